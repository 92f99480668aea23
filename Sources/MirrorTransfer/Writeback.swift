internal import Glibc
internal import MirrorParts

/// Starts writing a pipeline's bytes to the disk, ahead of the flush that waits for them.
struct Writeback {
    /// Bytes after which the disk may start to write them. A pipeline that begins at a later offset
    /// starts the disk with its first bytes.
    static let step: Int64 = 8 << 20

    private var begun: Int64 = 0

    /// Starts the disk after bytes up to an offset were written, if enough bytes are new.
    mutating func wrote(upTo end: Int64, in file: PartFile) {
        guard end - begun >= Writeback.step else { return }
        file.startWriteback(max(begun, end - 2 * Writeback.step)..<end)
        begun = end
    }
}

/// Releases a large file's bytes from memory once they are hashed and on the disk.
///
/// Released pages are the next ones that take new bytes. If the disk keeps up, a large file uses
/// some 32 MiB of memory. Without the release it would take as much memory from other uses as the
/// file is long.
struct PageRelease {
    /// Maximum size of a file that stays in memory, in bytes: a sixteenth of the machine's memory.
    static let largestKept: Int64 = {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        return Int64(pages) * Int64(sysconf(Int32(_SC_PAGESIZE))) / 16
    }()
    /// Distance between the last byte and the memory that is released. By then the disk has had
    /// time to write those bytes.
    static let lag = 3 * Writeback.step
    /// Number of bytes whose release is requested again, because the disk may not have written them
    /// before.
    static let reach = 32 * Writeback.step

    private let letsGo: Bool
    private var asked: Int64 = 0

    /// - Parameter letsGo: whether any memory is released.
    init(letsGo: Bool) { self.letsGo = letsGo }

    /// Releases older pages after the bytes up to an offset were hashed.
    mutating func hashed(upTo end: Int64, in file: PartFile) {
        let old = end - PageRelease.lag
        guard letsGo, old - asked >= Writeback.step else { return }
        // The first call releases the bytes that a part had before it was resumed.
        file.release((asked == 0 ? 0 : max(0, old - PageRelease.reach))..<old)
        asked = old
    }
}
