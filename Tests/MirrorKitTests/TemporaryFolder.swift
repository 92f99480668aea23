import MirrorTestSupport

/// A folder of its own for one test, removed with everything in it when the value goes.
final class TemporaryFolder: Sendable {
    private let folder: Folder

    /// The absolute path.
    var path: String { folder.path }

    /// Makes an empty folder.
    init(in parent: String = "/tmp") throws { folder = try Folder.temporary(in: parent) }

    deinit { folder.remove() }

    /// Writes a file, and makes the folders above it.
    func write(_ bytes: [UInt8], to name: String) throws { try folder.write(name, bytes) }

    /// Writes text to a file, and makes the folders above it.
    func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

    /// The bytes of a file; nil when it cannot be opened.
    func bytes(of name: String) -> [UInt8]? { folder.read(name) }

    /// The text of a file; nil when it cannot be opened.
    func text(of name: String) -> String? {
        bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The paths of all files below a folder, relative to it, in the order of their bytes.
    func names(in name: String = "") -> [String] {
        Folder(folder.full(name)).entries().filter { !$0.isFolder }.map(\.name)
    }
}
