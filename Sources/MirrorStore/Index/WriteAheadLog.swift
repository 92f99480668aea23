internal import CLinux
internal import CSQLite
internal import Glibc
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The write-ahead log of an index: what was committed and is not in the database file yet.
///
/// A commit reaches the log and not yet the disk. The log is opened before the first transaction, is
/// flushed when a promise depends on it, and is carried into the database file when it has grown.
struct WriteAheadLog: ~Copyable, Sendable {
    /// How many pages, of SQLite's usual 4 KiB, the log may gather.
    private static let pagesToCheckpoint = 2048

    /// Where it is; nil for an index that is not on disk.
    private let location: IndexLocation?
    /// `.mirror/`, for a run that writes.
    private let folder: Descriptor?
    /// Open once something was written: a run that finds nothing to do leaves the index as it is.
    private let file = Mutex<Descriptor?>(nil)
    /// Whether the log's name is on the disk.
    private let isNamed = Mutex(false)
    /// Checkpoints run on a second connection, so that writers need not wait for the disk.
    private let checkpointing = Mutex<Database?>(nil)
    /// The pages from which on writers are held back.
    private let overdueFrom = Mutex(8 * WriteAheadLog.pagesToCheckpoint)

    init(of location: IndexLocation?, isWriter: Bool) {
        self.location = location
        folder = isWriter ? location?.file.folder : nil
    }

    /// Makes the log, before the first transaction.
    ///
    /// SQLite flushes the header of a log and the folder at once, because frames of an earlier log may follow
    /// the header (https://sqlite.org/src/info/ff5be73dee). An empty file has none, so its header goes to the
    /// disk with the first frames that a promise depends on: on file systems that would not bring an earlier
    /// file's blocks back. What a killed run left in a log goes there now, because others rely on it.
    func open(_ database: inout Database) throws(IndexError) {
        guard let folder, file.withLock({ $0 }) == nil else { return }
        let opened: Descriptor
        let isEmpty: Bool
        do throws(Errno) {
            let name = IndexFile.name + "-wal"
            opened = Descriptor(
                owning: try retrying("openat", ".mirror/" + name) {
                    linux_openat(folder.number, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
                })
            isEmpty = try opened.status(path: ".mirror/" + name).stamp.size == 0
        } catch { throw IndexError.file(error) }
        let mayWait = isEmpty && FileSystemKind(of: opened).reportsGroupFlush
        try database.run("PRAGMA synchronous = \(mayWait ? "OFF" : "NORMAL")")
        var failure: IndexError?
        do throws(IndexError) {
            try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('opened', ?)") {
                $0.add(SystemClock.now().rfc3339)
            }
        } catch { failure = error }
        do throws(IndexError) { try database.run("PRAGMA synchronous = NORMAL") } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
        file.withLock { $0 = opened }
        guard !isEmpty else { return }
        do throws(Errno) { try flush() } catch { throw IndexError.file(error) }
    }

    /// Waits until every commit so far is on the disk (fdatasync(2)), and the log's name with them.
    ///
    /// The log's own descriptor is used: to open and close the database file would drop SQLite's
    /// POSIX locks. An error is final; a second call would not report it again.
    func flush() throws(Errno) {
        guard let file = file.withLock({ $0 }) else { return }
        if let folder, !isNamed.withLock({ $0 }) {
            try folder.flush(path: ".mirror")
            isNamed.withLock { $0 = true }
        }
        try file.flushBytes(path: ".mirror/index.sqlite-wal")
    }

    /// Whether a flush of a whole file system includes the log.
    func isOnDevice(_ device: UInt64) -> Bool {
        guard let folder else { return false }
        return (try? folder.status(path: ".mirror").device) == device
    }

    /// Whether a log of so many pages is to be carried into the database file.
    func isLong(_ pages: Int) -> Bool {
        location != nil && pages >= WriteAheadLog.pagesToCheckpoint
    }

    /// Whether writers must be held back: one that never rests keeps the log from beginning anew.
    ///
    /// Where a reader keeps it from that, writers are held back again only after as much more.
    func isOverdue(_ pages: Int) -> Bool {
        let step = 8 * WriteAheadLog.pagesToCheckpoint
        return overdueFrom.withLock { overdueFrom in
            if pages < step { overdueFrom = step }
            guard pages >= overdueFrom else { return false }
            overdueFrom = pages + step
            return true
        }
    }

    /// Carries the log into the database file; writers go on meanwhile.
    func checkpoint() throws(IndexError) {
        guard let location else { return }
        try checkpointing.withLock { database throws(IndexError) in
            if try database?.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE) != nil { return }
            var opened = try location.connect()
            // It must have read once to find the log.
            _ = try opened.number("PRAGMA user_version")
            try opened.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
            database = consume opened
        }
    }

    /// Closes the connection that checkpoints; the log can still be flushed.
    func endCheckpoints() { checkpointing.withLock { $0 = nil } }
}
