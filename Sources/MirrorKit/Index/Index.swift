internal import CSQLite
internal import Glibc
internal import MirrorModel
internal import Synchronization

/// The index: what mirror knows of each target, part and run; SQLite behind a mutex.
///
/// Any thread may read and write; calls are short. A commit reaches the write-ahead log and not yet
/// the disk: `makeDurable` does that, at the moments when a promise depends on it. A crash of the
/// machine before that loses the latest commits, in order from the end, and never half of one.
final class Index: Sendable {
    /// How further connections are opened; nil for an index that is not on disk.
    private let origin: Origin?
    private let connection: Mutex<Database>
    /// Checkpoints run on a second connection, so that writers need not wait for the disk.
    private let checkpointing = Mutex<Database?>(nil)
    private let log: Descriptor?
    private let sawDamage = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)
    /// Whether it was made by this run: there was none, or a damaged one.
    let wasCreated: Bool

    /// Where the index is, and how it is opened.
    struct Origin: Sendable {
        let file: IndexFile
        /// A path, or a URI with parameters.
        let name: String
        let flags: Int32
        /// Holds a private copy as long as it is read.
        let copy: PrivateCopy?

        /// Opens a further connection.
        func connect() throws(IndexError) -> Database {
            try Database(name, flags: flags, beneath: file.folder)
        }
    }

    init(
        origin: Origin?, connection: consuming Database, log: Descriptor?, wasCreated: Bool
    ) {
        self.origin = origin
        self.connection = Mutex(connection)
        self.log = log
        self.wasCreated = wasCreated
        if let origin { OpenIndexes.add(origin.file) }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring), let origin { OpenIndexes.remove(origin.file) }
    }

    /// Reads with the connection that writes, so what was written is seen.
    func read<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            do throws(IndexError) { return try body(&database) } catch { throw noted(error) }
        }
    }

    /// Runs one transaction: all that the closure writes, or nothing.
    func write<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            do throws(IndexError) {
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
    func records() throws(IndexError) -> RecordCursor {
        guard let origin else { return RecordCursor(nil) { _ in } }
        do throws(IndexError) {
            return RecordCursor(try origin.connect()) {
                _ = self.noted($0)
            }
        } catch { throw noted(error) }
    }

    /// Waits until every commit so far is on the disk (fdatasync(2) of the write-ahead log).
    ///
    /// The log's own descriptor is used: to open and close the database file would drop SQLite's
    /// POSIX locks. An error is final; a second call would not report it again.
    func makeDurable() throws(Errno) { try log?.flushBytes(path: ".mirror/index.sqlite-wal") }

    /// Whether a flush of a whole file system includes the index's log.
    func isOnDevice(_ device: UInt64) -> Bool {
        (try? log?.status(path: ".mirror/index.sqlite-wal").device) == device
    }

    /// Carries the log into the database file when it has grown beyond 8 MiB; writers go on meanwhile.
    func checkpointIfNeeded() throws(IndexError) {
        guard let log, let origin else { return }
        let size: Int64
        do throws(Errno) { size = try log.status(path: "index.sqlite-wal").stamp.size } catch {
            throw IndexError.file(error)
        }
        guard size > 8 << 20 else { return }
        try checkpointing.withLock { database throws(IndexError) in
            if try database?.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE) != nil { return }
            var opened = try origin.connect()
            // It must have read once to find the log.
            _ = try opened.number("PRAGMA user_version")
            try opened.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
            database = consume opened
        }
        // A writer that never rests keeps the log from beginning anew: hold it back for once.
        guard size > 64 << 20 else { return }
        try read { (database: inout Database) throws(IndexError) in
            _ = try database.checkpoint(mode: SQLITE_CHECKPOINT_RESTART)
        }
    }

    /// Carries the log into the database file and removes it; a damaged index is moved aside, so
    /// that the next run makes a new one. Calls after this one fail.
    func close(now: Instant) throws(MirrorError) {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        try indexed { () throws(IndexError) in
            checkpointing.withLock { $0 = nil }
            try connection.withLock { database throws(IndexError) in
                defer { if let origin { OpenIndexes.remove(origin.file) } }
                var failure: IndexError?
                if log != nil, !sawDamage.load(ordering: .acquiring) {
                    do throws(IndexError) {
                        try database.checkpoint(mode: SQLITE_CHECKPOINT_TRUNCATE)
                    } catch { failure = error }
                }
                database = try Database(":memory:", flags: SQLITE_OPEN_READWRITE)
                origin?.copy?.remove()
                if let failure { throw failure }
            }
            if log != nil, let origin, sawDamage.load(ordering: .acquiring) {
                do throws(Errno) { _ = try origin.file.setAside(at: now) } catch {
                    throw IndexError.file(error)
                }
            }
        }
    }

    private func noted(_ error: IndexError) -> IndexError {
        if error.isDamage, log != nil, !sawDamage.exchange(true, ordering: .acquiringAndReleasing) {
            origin?.file.markDamage()
        }
        return error
    }
}
