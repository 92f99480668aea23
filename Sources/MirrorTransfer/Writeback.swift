internal import Glibc
internal import MirrorParts

/// When the disk may begin with a pipeline's bytes, ahead of the flush that waits for them.
struct Writeback {
    /// After so many bytes the disk may begin with them; a pipeline that begins further on asks for the
    /// first time with its first bytes.
    static let step: Int64 = 8 << 20

    private var begun: Int64 = 0

    /// After bytes up to an end were written.
    mutating func wrote(upTo end: Int64, in file: PartFile) {
        guard end - begun >= Writeback.step else { return }
        file.startWriteback(max(begun, end - 2 * Writeback.step)..<end)
        begun = end
    }
}

/// Lets a large file's bytes go from memory once they are hashed and on the disk.
///
/// Pages that are let go are the next ones to be written into. Where the disk keeps up, a large file goes
/// through some 32 MiB of memory instead of taking its own length from whoever else uses it.
struct PageRelease {
    /// A longer file does not stay in memory, in bytes: a sixteenth of the machine's.
    static let largestKept: Int64 = {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        return Int64(pages) * Int64(sysconf(Int32(_SC_PAGESIZE))) / 16
    }()
    /// How far behind the last byte memory is let go: by then the disk has had time for it.
    static let lag = 3 * Writeback.step
    /// How much is asked for again, because the disk had not taken it the last time.
    static let reach = 32 * Writeback.step

    private let letsGo: Bool
    private var asked: Int64 = 0

    /// - Parameter letsGo: whether anything is let go.
    init(letsGo: Bool) { self.letsGo = letsGo }

    /// After the bytes up to an end were hashed.
    mutating func hashed(upTo end: Int64, in file: PartFile) {
        let old = end - PageRelease.lag
        guard letsGo, old - asked >= Writeback.step else { return }
        // What a part had before it was resumed is let go the first time.
        file.release((asked == 0 ? 0 : max(0, old - PageRelease.reach))..<old)
        asked = old
    }
}
