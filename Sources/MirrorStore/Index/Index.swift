internal import CSQLite
package import MirrorModel
package import MirrorSystem
internal import Synchronization

/// The index: what mirror knows of each target, part and run; SQLite behind a mutex.
///
/// Any thread may read and write; calls are short. A commit reaches the write-ahead log and not yet
/// the disk: `makeDurable` does that, at the moments when a promise depends on it. A crash of the
/// machine before that loses the latest commits, in order from the end, and never half of one.
package final class Index: Sendable {
    /// How further connections are opened; nil for an index that is not on disk.
    private let location: IndexLocation?
    private let connection: Mutex<Database>
    private let log: WriteAheadLog
    private let damage: IndexDamage
    private let isWriter: Bool
    private let isClosed = Atomic<Bool>(false)
    /// Whether it was made by this run: there was none, or a damaged one.
    let wasCreated: Bool
    /// Whether rows that a plan has read are still those of the index.
    package let rows = RowsState()

    package init(
        location: IndexLocation?, connection: consuming Database, isWriter: Bool, wasCreated: Bool
    ) {
        self.location = location
        self.connection = Mutex(connection)
        self.isWriter = isWriter
        self.wasCreated = wasCreated
        log = WriteAheadLog(of: location, isWriter: isWriter)
        damage = IndexDamage(markedBeside: isWriter ? location?.file : nil)
        if let location { OpenIndexes.add(location.file) }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring), let location { OpenIndexes.remove(location.file) }
    }

    /// The changes that a session makes.
    package var changes: IndexChanges { IndexChanges(index: self) }

    /// What a server of the tree asks.
    package var served: ServedRows { ServedRows(index: self) }

    /// Whether it shows what other processes write.
    var isLive: Bool { location?.isLive ?? false }

    /// Whether reading it showed damage, certain or not.
    package var hasSeenDamage: Bool { damage.isSeen }

    /// Reads with the writing connection, so that it sees what was written.
    ///
    /// Only the store calls this and `write`. A session asks by `Index+Questions`, and writes by
    /// `IndexChanges`.
    package func read<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            try damage.refuseIfLost()
            do throws(IndexError) { return try body(&database) } catch { throw damage.noted(error) }
        }
    }

    /// Runs one transaction: all that the closure writes, or nothing.
    package func write<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            try damage.refuseIfLost()
            do throws(IndexError) {
                try log.open(&database)
                try database.run("BEGIN IMMEDIATE")
                let value = try body(&database)
                try database.run("COMMIT")
                return value
            } catch {
                // SQLite has rolled back by itself after some errors; then this one does nothing.
                try? database.run("ROLLBACK")
                throw damage.noted(error)
            }
        }
    }

    /// A walk over all records in the order of their paths' bytes, on a connection of its own: a
    /// snapshot that later writes do not disturb.
    package func records() throws(IndexError) -> RecordCursor {
        guard let location else { return RecordCursor(nil) { _ in } }
        try damage.refuseIfLost()
        do throws(IndexError) {
            return RecordCursor(try location.connect()) {
                _ = self.damage.noted($0)
            }
        } catch { throw damage.noted(error) }
    }

    /// A walk over the rows from a path on, in brief; a snapshot like the other.
    func projections(
        _ sql: String, from start: String
    ) throws(IndexError) -> ProjectionCursor {
        guard let location else { return try ProjectionCursor(nil, from: start) { _ in } }
        try damage.refuseIfLost()
        do throws(IndexError) {
            return try ProjectionCursor(
                try location.connect(), sql, from: start
            ) { _ = self.damage.noted($0) }
        } catch { throw damage.noted(error) }
    }

    /// Waits until every commit so far is on the disk. An error is final.
    package func makeDurable() throws(Errno) { try log.flush() }

    /// Whether a flush of a whole file system includes the index's log.
    func isOnDevice(_ device: UInt64) -> Bool { log.isOnDevice(device) }

    /// Carries the log into the database file when it has grown to 8 MiB.
    func checkpointIfNeeded() throws(IndexError) {
        let pages = connection.withLock { $0.pagesInLog }
        guard log.isLong(pages) else { return }
        try damage.refuseIfLost()
        try log.checkpoint()
        guard log.isOverdue(pages) else { return }
        try read { (database: inout Database) throws(IndexError) in
            _ = try database.checkpoint(mode: SQLITE_CHECKPOINT_RESTART)
        }
    }

    /// Carries the log into the database file and removes it. Calls after this one fail.
    ///
    /// A damaged index stays: the next run finds it marked, moves it aside, and says so. Where it cannot be
    /// marked, it is moved aside now.
    package func close() throws(MirrorError) {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        try indexed { () throws(IndexError) in
            log.endCheckpoints()
            try connection.withLock { database throws(IndexError) in
                defer { if let location { OpenIndexes.remove(location.file) } }
                var failure: IndexError?
                if isWriter, !damage.isSeen, damage.isReachable {
                    do throws(IndexError) {
                        try database.checkpoint(mode: SQLITE_CHECKPOINT_TRUNCATE)
                    } catch { failure = error }
                }
                database = try Database(":memory:", flags: SQLITE_OPEN_READWRITE)
                location?.copy?.remove()
                if let failure { throw failure }
            }
            guard isWriter, let location, damage.isCertain, !location.file.put(.damaged) else {
                return
            }
            do throws(Errno) { _ = try location.file.setAside(at: SystemClock.now()) } catch {
                throw IndexError.file(error)
            }
        }
    }
}
