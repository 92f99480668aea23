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

    /// How long a change waits for others in the same folder, in milliseconds; whoever asked a run for it
    /// waits for five seconds.
    private static let longestWait: Int64 = 4_000

    /// Reads and replaces a file of a folder while nobody else does so in this way.
    ///
    /// Without it, the later of two changes would undo the other. Where there is no such folder, or no
    /// lock on it (flock(2)), the body runs as it is. Throws `MirrorError` with `locked` where another
    /// change takes more than four seconds, and what the body throws.
    package static func changing<Value>(
        in folder: String, _ body: () throws -> Value
    ) throws -> Value {
        let number = linux_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard number >= 0 else { return try body() }
        let hold = Descriptor(owning: number)
        let end = SystemClock.monotonic() + longestWait
        while linux_flock(hold.number, LOCK_EX | LOCK_NB) == -EWOULDBLOCK {
            guard SystemClock.monotonic() < end else {
                throw MirrorError(
                    .locked,
                    "\(folder.printable): others have been changing files in it for seconds. Try again later."
                )
            }
            usleep(10_000)
        }
        return try withExtendedLifetime(hold) { try body() }
    }

    /// The text of a regular file of at most a mebibyte. Throws `MirrorError` with `inputOutput`.
    package static func text(at path: String) throws -> String {
        do throws(Errno) {
            let file = Descriptor(
                owning: try retrying("open", path) {
                    linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
                })
            // A pipe would wait for its writer.
            guard try file.status(path: path).isFile else {
                throw Errno(number: EINVAL, call: "open", path: path)
            }
            return String(
                decoding: try file.bytes(at: 0, count: 1 << 20, path: path), as: UTF8.self)
        } catch { throw MirrorError(error) }
    }
}
