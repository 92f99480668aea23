import Glibc
import MirrorTestSupport
import Testing

/// A scenario file by its name without the ending.
struct ScenarioFile: Sendable, CustomTestStringConvertible {
    /// Scenarios wait more than they work, so a few run at once.
    static let crew = Crew(threads: 6)

    let name: String

    var testDescription: String { name }

    /// All files, or those whose names hold one of the texts in `SCENARIO`, which commas separate.
    static var all: [ScenarioFile] {
        let wanted = getenv("SCENARIO").map { String(cString: $0).split(separator: ",") } ?? []
        return folder.entries().map(\.name)
            .filter { name in
                name.hasSuffix(".scenario")
                    && (wanted.isEmpty || wanted.contains { name.contains($0) })
            }
            .map { ScenarioFile(name: String($0.dropLast(".scenario".count))) }
    }

    func text() throws -> String {
        let bytes = try #require(ScenarioFile.folder.read(name + ".scenario"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let folder = Folder(
        #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Scenarios")
}
