import FoundationEssentials

/// Files that lie beside the tests, and the project's own.
enum CaseFiles {
    /// The folder of the project.
    static let project: String = {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(4)
        return "/" + parts.joined(separator: "/")
    }()

    /// The folder that holds the good and the bad manifests.
    static let cases = project + "/Tests/MirrorKitTests/Manifests/"

    /// The manifests of a folder, in order, without what is expected of them.
    static func manifests(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: cases + folder)) ?? []
        return names.filter { !$0.hasSuffix(".expected") }.sorted().map { folder + "/" + $0 }
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    static func text(_ path: String) throws -> String {
        String(decoding: try bytes(path), as: UTF8.self)
    }
}
