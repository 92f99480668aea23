internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// A small file outside the tree that is always whole: read at once, and replaced at once.
package enum ReplacedFile {
    /// Replaces the file's bytes. Throws `MirrorError`; the old file then stays.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        try FileReplacement(of: path).write { try $0(bytes) }
    }

    /// The text of a file of at most a mebibyte. Throws `MirrorError` with `inputOutput`.
    package static func text(at path: String) throws -> String {
        do throws(Errno) {
            let file = Descriptor(
                owning: try retrying("open", path) {
                    linux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
                })
            return String(
                decoding: try file.bytes(at: 0, count: 1 << 20, path: path), as: UTF8.self)
        } catch { throw MirrorError(error) }
    }
}
