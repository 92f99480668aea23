internal import Glibc

/// What becomes of the page cache of one lane's bytes once they are written: the disk begins with them
/// early, and those of a large file are let go when they are there.
///
/// Pages that are let go are the next ones to be written into, so a large file goes through some 32 MiB of
/// memory instead of taking its own length from whoever else uses it.
struct Writeback {
    /// After so many bytes the disk may begin with them; a lane that begins further on asks for the
    /// first time with its first bytes.
    static let step: Int64 = 8 << 20
    /// How far behind the last byte memory is let go: by then the disk has had time for it.
    static let lag: Int64 = 3 * step
    /// A longer file does not stay in memory, in bytes: a sixteenth of the machine's.
    static let largestKept: Int64 = {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        return Int64(pages) * Int64(sysconf(Int32(_SC_PAGESIZE))) / 16
    }()

    private let letsGo: Bool
    private var begun: Int64 = 0
    private var released: Int64 = 0

    /// - Parameter letsGo: whether what the disk has is let go.
    init(letsGo: Bool) { self.letsGo = letsGo }

    /// After bytes up to an end were written; those up to another one are not needed in memory again.
    mutating func wrote(upTo end: Int64, hashedUpTo hashed: Int64, in file: PartFile) {
        guard end - begun >= Writeback.step else { return }
        file.startWriteback(max(begun, end - 2 * Writeback.step)..<end)
        begun = end
        let old = min(hashed, end - Writeback.lag)
        guard letsGo, old > released else { return }
        file.release(released..<old)
        released = old
    }
}
