internal import MirrorModel

/// The file of an unfinished download, held open; closed when the last reference goes.
final class PartFile: Sendable {
    /// The file name in `tmp/`.
    let name: String
    /// The open file, owned by this value.
    let descriptor: Int32

    /// Takes over an open descriptor.
    init(name: String, descriptor: Int32) {
        self.name = name
        self.descriptor = descriptor
    }
}
