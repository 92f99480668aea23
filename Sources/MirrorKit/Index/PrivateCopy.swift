internal import CLinux
internal import Glibc

/// A copy of the index's file and write-ahead log in a folder of its own, removed with this value.
///
/// What is opened here cannot disturb the original: SQLite writes to a database even to read it.
final class PrivateCopy: Sendable {
    /// The path of the copied database.
    let path: String
    private let folder: String
    /// The path of the copy may lead through this descriptor.
    private let origin: Descriptor

    /// Copies `index.sqlite` and its log from a folder; the copy is made in it when it can be
    /// written to (the copy may then share extents), else in `$TMPDIR` or `/tmp`.
    init(from origin: Descriptor, path originPath: String) throws(Errno) {
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var made: String?
        for place in [originPath, temporary] {
            var template = Array((place + "/.index-copy-XXXXXX").utf8CString)
            if mkdtemp(&template) != nil {
                made = String(
                    decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
                break
            }
        }
        guard let made else { throw Errno(number: linux_errno(), call: "mkdtemp", path: temporary) }
        folder = made
        self.origin = origin
        path = made + "/" + IndexFile.name
        for suffix in ["", "-wal"] {
            let name = IndexFile.name + suffix
            do throws(Errno) {
                let source = Descriptor(
                    owning: try retrying("openat", name) {
                        linux_openat(
                            origin.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
                    })
                let copy = Descriptor(
                    owning: try retrying("open", folder) {
                        linux_openat(
                            AT_FDCWD, path + suffix, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                    })
                try FileCopy.copy(from: source, to: copy, path: name)
            } catch {
                if suffix.isEmpty || error.number != ENOENT {
                    PrivateCopy.remove(folder: made)
                    throw error
                }
            }
        }
    }

    deinit { PrivateCopy.remove(folder: folder) }

    private static func remove(folder: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(folder + "/" + IndexFile.name + suffix) }
        rmdir(folder)
    }
}
