internal import CLinux
internal import CSQLite
internal import Glibc
package import MirrorModel
package import MirrorSystem
internal import Synchronization

/// The index: what mirror knows of each target, part and run; SQLite behind a mutex.
///
/// Any thread may read and write; calls are short. A commit reaches the write-ahead log and not yet
/// the disk: `makeDurable` does that, at the moments when a promise depends on it. A crash of the
/// machine before that loses the latest commits, in order from the end, and never half of one.
package final class Index: Sendable {
    /// How many pages, of SQLite's usual 4 KiB, the log may gather.
    private static let pagesToCheckpoint = 2048

    /// How further connections are opened; nil for an index that is not on disk.
    private let location: Location?
    private let connection: Mutex<Database>
    /// Checkpoints run on a second connection, so that writers need not wait for the disk.
    private let checkpointing = Mutex<Database?>(nil)
    /// The write-ahead log, open once something was written: a run that finds nothing to do leaves the
    /// index as it is.
    private let log: Mutex<Descriptor?>
    private let isWriter: Bool
    private let sawDamage = Atomic<Bool>(false)
    private let isBeyondDoubt = Atomic<Bool>(false)
    /// Why the index answers no more questions: each would wait as long as the first did.
    private let lost = Mutex<IndexError?>(nil)
    private let isClosed = Atomic<Bool>(false)
    /// Whether it was made by this run: there was none, or a damaged one.
    let wasCreated: Bool

    /// Where the index is, and how it is opened.
    package struct Location: Sendable {
        let file: IndexFile
        /// A path, or a URI with parameters.
        let name: String
        let flags: Int32
        /// Holds a private copy as long as it is read.
        let copy: PrivateCopy?
        /// What a connection runs before it reads.
        var preparation = ""

        /// Whether SQLite may write to it, as it does even to read beside others.
        var isWritable: Bool { flags & SQLITE_OPEN_READWRITE != 0 }

        /// Opens a further connection.
        func connect() throws(IndexError) -> Database {
            let database = try Database(name, flags: flags, beneath: file.folder)
            if !preparation.isEmpty { try database.run(preparation) }
            return database
        }
    }

    package init(
        location: Location?, connection: consuming Database, isWriter: Bool, wasCreated: Bool
    ) {
        self.location = location
        self.connection = Mutex(connection)
        self.isWriter = isWriter
        log = Mutex(nil)
        self.wasCreated = wasCreated
        if let location { OpenIndexes.add(location.file) }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring), let location { OpenIndexes.remove(location.file) }
    }

    /// Whether rows that a plan has read are still those of the index.
    package let rows = RowsState()

    /// Whether it shows what other processes write: neither a copy nor a file that is taken to stay, nor
    /// one of an earlier version, which the next run migrates.
    var isLive: Bool {
        location.map { $0.copy == nil && $0.isWritable && $0.preparation.isEmpty } ?? false
    }

    /// Reads with the writing connection, so that it sees what was written.
    ///
    /// Only the store calls this and `write`. A session asks by `Index+Questions`, and writes by
    /// `Index+Changes`.
    package func read<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            try refuseIfLost()
            do throws(IndexError) { return try body(&database) } catch { throw noted(error) }
        }
    }

    /// Runs one transaction: all that the closure writes, or nothing.
    package func write<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            try refuseIfLost()
            do throws(IndexError) {
                try openLog(&database)
                try database.run("BEGIN IMMEDIATE")
                let value = try body(&database)
                try database.run("COMMIT")
                return value
            } catch {
                // SQLite has rolled back by itself after some errors; then this one does nothing.
                try? database.run("ROLLBACK")
                throw noted(error)
            }
        }
    }

    /// A walk over all records in the order of their paths' bytes, on a connection of its own: a
    /// snapshot that later writes do not disturb.
    package func records() throws(IndexError) -> RecordCursor {
        guard let location else { return RecordCursor(nil) { _ in } }
        try refuseIfLost()
        do throws(IndexError) {
            return RecordCursor(try location.connect()) {
                _ = self.noted($0)
            }
        } catch { throw noted(error) }
    }

    /// A walk over the rows from a path on, in brief; a snapshot like the other.
    func projections(
        _ sql: String, from start: String
    ) throws(IndexError) -> ProjectionCursor {
        guard let location else { return try ProjectionCursor(nil, from: start) { _ in } }
        try refuseIfLost()
        do throws(IndexError) {
            return try ProjectionCursor(
                try location.connect(), sql, from: start
            ) { _ = self.noted($0) }
        } catch { throw noted(error) }
    }

    /// Waits until every commit so far is on the disk (fdatasync(2) of the write-ahead log).
    ///
    /// The log's own descriptor is used: to open and close the database file would drop SQLite's
    /// POSIX locks. An error is final; a second call would not report it again.
    package func makeDurable() throws(Errno) {
        try log.withLock { $0 }?.flushBytes(path: ".mirror/index.sqlite-wal")
    }

    /// Whether a flush of a whole file system includes the index's log.
    func isOnDevice(_ device: UInt64) -> Bool {
        guard isWriter, let folder = location?.file.folder else { return false }
        return (try? folder.status(path: ".mirror").device) == device
    }

    /// Makes the log, before the first transaction: its name must be on the disk before its bytes
    /// count.
    private func openLog(_ database: inout Database) throws(IndexError) {
        guard isWriter, let folder = location?.file.folder, log.withLock({ $0 }) == nil else {
            return
        }
        try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('opened', ?)") {
            $0.add(SystemClock.now().rfc3339)
        }
        do throws(Errno) {
            try folder.flush(path: ".mirror")
            let name = IndexFile.name + "-wal"
            let opened = Descriptor(
                owning: try retrying("openat", ".mirror/" + name) {
                    linux_openat(folder.number, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0)
                })
            log.withLock { $0 = opened }
        } catch { throw IndexError.file(error) }
    }

    /// Carries the log into the database file when it has grown to 8 MiB; writers go on meanwhile.
    func checkpointIfNeeded() throws(IndexError) {
        guard let location else { return }
        let pages = connection.withLock { $0.pagesInLog }
        guard pages >= Index.pagesToCheckpoint else { return }
        try refuseIfLost()
        try checkpointing.withLock { database throws(IndexError) in
            if try database?.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE) != nil { return }
            var opened = try location.connect()
            // It must have read once to find the log.
            _ = try opened.number("PRAGMA user_version")
            try opened.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
            database = consume opened
        }
        // A writer that never rests keeps the log from beginning anew: hold it back for once.
        guard pages >= 8 * Index.pagesToCheckpoint else { return }
        try read { (database: inout Database) throws(IndexError) in
            _ = try database.checkpoint(mode: SQLITE_CHECKPOINT_RESTART)
        }
    }

    /// Carries the log into the database file and removes it; a damaged index is moved aside, so
    /// that the next run makes a new one. Calls after this one fail.
    package func close(now: Instant) throws(MirrorError) {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        try indexed { () throws(IndexError) in
            checkpointing.withLock { $0 = nil }
            try connection.withLock { database throws(IndexError) in
                defer { if let location { OpenIndexes.remove(location.file) } }
                var failure: IndexError?
                if isWriter, !sawDamage.load(ordering: .acquiring), lost.withLock({ $0 == nil }) {
                    do throws(IndexError) {
                        try database.checkpoint(mode: SQLITE_CHECKPOINT_TRUNCATE)
                    } catch { failure = error }
                }
                database = try Database(":memory:", flags: SQLITE_OPEN_READWRITE)
                location?.copy?.remove()
                if let failure { throw failure }
            }
            if isWriter, let location, isBeyondDoubt.load(ordering: .acquiring) {
                do throws(Errno) { _ = try location.file.setAside(at: now) } catch {
                    throw IndexError.file(error)
                }
            }
        }
    }

    /// Whether reading it showed damage, certain or not.
    package var hasSeenDamage: Bool { sawDamage.load(ordering: .acquiring) }

    private func noted(_ error: IndexError) -> IndexError {
        if error.isWithoutLock { lost.withLock { $0 = error } }
        guard error.damage != nil, isWriter else { return error }
        if !sawDamage.exchange(true, ordering: .acquiringAndReleasing) {
            location?.file.put(.doubted)
        }
        if case .damaged = error, !isBeyondDoubt.exchange(true, ordering: .acquiringAndReleasing) {
            location?.file.put(.damaged)
        }
        return error
    }

    private func refuseIfLost() throws(IndexError) {
        if let error = lost.withLock({ $0 }) { throw error }
    }
}
