import Glibc
import MirrorTestSupport
import Testing

/// A scenario file by its name without the ending.
struct ScenarioFile: Sendable, CustomTestStringConvertible {
    /// Scenarios wait more than they work, so a few run at once.
    static let crew = Crew(threads: 6)

    let name: String

    var testDescription: String { name }

    /// All files, or those whose names hold the text in `SCENARIO`.
    static var all: [ScenarioFile] {
        let wanted = getenv("SCENARIO").map { String(cString: $0) } ?? ""
        return folder.entries().map(\.name)
            .filter { $0.hasSuffix(".scenario") && (wanted.isEmpty || $0.contains(wanted)) }
            .map { ScenarioFile(name: String($0.dropLast(".scenario".count))) }
    }

    func text() throws -> String {
        let bytes = try #require(ScenarioFile.folder.read(name + ".scenario"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let folder = Folder(
        #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Scenarios")
}
