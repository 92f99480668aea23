internal import Glibc
internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem

extension ManifestEdit {
    /// Reads a manifest's file.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
    init(readingFile path: String) throws {
        let bytes = try ManifestEdit.bytes(ofFile: path)
        let origin = ManifestOrigin.file(path: path)
        self.init(
            bytes: bytes, decoded: try ManifestReader.read(bytes, label: path, origin: origin),
            label: path, origin: origin)
    }

    /// The text of a manifest's file. Throws `MirrorError` with `manifestUnreadable`.
    static func bytes(ofFile path: String) throws -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw MirrorError(
                .manifestUnreadable,
                "\(path.printable): the manifest cannot be read: \(String(cString: strerror(errno)))."
            )
        }
        let file = Descriptor(owning: number)
        do throws(Errno) {
            let size = try file.status(path: path).stamp.size
            return try file.bytes(at: 0, count: Int(size), path: path)
        } catch { throw MirrorError(error) }
    }
}
