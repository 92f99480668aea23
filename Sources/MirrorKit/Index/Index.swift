internal import CSQLite
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The index: what mirror knows of each target, part and run; SQLite behind a mutex.
///
/// Any thread may read and write; calls are short. A commit reaches the write-ahead log, and the disk only
/// where a promise depends on it (`write(durably:_:)`). A crash of the machine loses the commits behind the
/// last durable one, in order from the end, and never half of one.
final class Index: Sendable {
    /// How further connections are opened; nil for an index that is not on disk.
    private let location: IndexLocation?
    private let connection: Mutex<Database>
    /// Whether another connection can read while a commit waits for the disk: a write-ahead log is there.
    private let readsBesideCommits: Bool
    /// A connection for what runs read; nil until they do.
    private let runsConnection = Mutex<Database?>(nil)
    private let damage: IndexDamage
    private let isWriter: Bool
    private let isClosed = Atomic<Bool>(false)
    /// Whether the log's name is on the disk.
    private let isLogNamed = Atomic<Bool>(false)
    /// The pages that the log may gather, of SQLite's usual 4 KiB.
    private static let pagesToCheckpoint = 2048
    /// The pages in the log at which it is carried into the database the next time. A reader may keep the log
    /// from beginning again, and then each commit would try.
    private let nextCheckpoint = Atomic(Index.pagesToCheckpoint)
    /// Whether rows that a plan has read are still those of the index.
    let rows = RowsState()
    /// A sentence for people when it was found damaged; nil otherwise.
    let notice: String?

    init(
        location: IndexLocation?, connection: consuming Database, isWriter: Bool,
        readsBesideCommits: Bool = false, notice: String? = nil
    ) {
        self.readsBesideCommits = readsBesideCommits
        self.notice = notice
        self.location = location
        self.connection = Mutex(connection)
        self.isWriter = isWriter
        damage = IndexDamage(markedBeside: isWriter ? location?.file : nil)
        if let location { location.file.noteOpened() }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring), let location { location.file.noteClosed() }
    }

    /// Whether it shows what other processes write.
    var isLive: Bool { location?.isLive ?? false }

    /// Whether reading it showed damage, certain or not.
    var hasSeenDamage: Bool { damage.isSeen }

    /// Reads with the writing connection, so that it sees what was written.
    ///
    /// Only the store calls this and `write`; the other methods are a session's, one call each.
    func read<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            try damage.refuseReadingIfLost()
            do throws(IndexError) { return try body(&database) } catch { throw damage.noted(error) }
        }
    }

    /// Reads with a connection of its own, which does not wait for a commit that waits for the disk.
    ///
    /// It sees every commit that has returned. Where the index has no write-ahead log, or the process
    /// has no descriptor left, it reads with the writing connection instead.
    private func readingBesideCommits<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        guard readsBesideCommits, let location, !isClosed.load(ordering: .acquiring) else {
            return try reading(body)
        }
        let value = try indexed { () throws(IndexError) in
            try damage.refuseReadingIfLost()
            return try runsConnection.withLock { connection throws(IndexError) -> Value? in
                var database: Database
                if let open = connection.take() {
                    database = open
                } else {
                    do throws(IndexError) { database = try location.connect() } catch { return nil }
                }
                let value: Value
                do throws(IndexError) { value = try body(&database) } catch {
                    throw damage.noted(error)
                }
                connection = consume database
                return value
            }
        }
        if let value { return value }
        return try reading(body)
    }

    /// Runs one transaction: all that the closure writes, or nothing.
    ///
    /// - Parameter durably: whether it is on the disk before the call returns, with all commits before it
    ///   (`PRAGMA synchronous`). An error of that flush is final.
    func write<Value: Sendable>(
        durably: Bool = false, _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        let (value, pages) = try connection.withLock { database throws(IndexError) in
            try damage.refuseIfLost()
            do throws(IndexError) {
                // In WAL mode the same as FULL; in others the journal's end lasts too.
                if durably { try database.run("PRAGMA synchronous = EXTRA") }
                try database.run("BEGIN IMMEDIATE")
                let value = try body(&database)
                try database.run("COMMIT")
                if durably { try nameLog() }
                if durably { try database.run("PRAGMA synchronous = NORMAL") }
                return (value, database.pagesInLog)
            } catch {
                // SQLite has rolled back by itself after some errors; then this one does nothing.
                try? database.run("ROLLBACK")
                try? database.run("PRAGMA synchronous = NORMAL")
                throw damage.noted(error)
            }
        }
        checkpoint(pages)
        return value
    }

    /// Carries a long log into the database, over a connection of its own: others need not wait for it.
    ///
    /// The commit before it stands, so an error ends no transaction. One that is final refuses the next
    /// write; where the database finds no room to grow, the log goes on.
    private func checkpoint(_ pages: Int) {
        if pages < Index.pagesToCheckpoint {
            return nextCheckpoint.store(Index.pagesToCheckpoint, ordering: .relaxed)
        }
        guard let location, pages >= nextCheckpoint.load(ordering: .relaxed) else { return }
        nextCheckpoint.store(pages + Index.pagesToCheckpoint, ordering: .relaxed)
        do throws(IndexError) {
            var other = try location.connect()
            // A connection that has read nothing does not know that there is a log.
            _ = try other.number("PRAGMA user_version")
            try other.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
        } catch {
            if !error.isUnwritable { _ = damage.noted(error) }
        }
    }

    /// Flushes the folder of the log, once: SQLite only calls fdatasync(2) for it, which need not write a new
    /// name, and ignores its error (`unixSync` in os_unix.c).
    private func nameLog() throws(IndexError) {
        guard let location, !isLogNamed.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        do throws(Errno) { try location.file.folder.flush(path: ".mirror") } catch {
            throw .unflushed(error)
        }
    }

    /// A walk over the rows from a path on.
    private func cursor(
        _ sql: String = ProjectionCursor.rows, from start: String
    ) throws(MirrorError) -> ProjectionCursor {
        do throws(IndexError) {
            try damage.refuseReadingIfLost()
            return try ProjectionCursor(try location?.connect(), sql, from: start) {
                _ = self.damage.noted($0)
            }
        } catch { throw damage.noted(error).mirrorError }
    }

    /// Carries the log into the database file and removes it. Calls after this one fail.
    ///
    /// A damaged index stays: the next run finds it marked, moves it aside, and says so. Where it cannot be
    /// marked, it is moved aside now.
    func close() throws(MirrorError) {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        runsConnection.withLock { $0 = nil }
        try indexed { () throws(IndexError) in
            try connection.withLock { database throws(IndexError) in
                defer { if let location { location.file.noteClosed() } }
                // A flush that failed is not tried again (fsync(2)), and the run must not end well.
                var failure = damage.failedFlush
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
            do throws(Errno) {
                _ = try location.file.setAside(as: "damaged", at: SystemClock.now())
            } catch { throw IndexError.file(error) }
        }
    }
}

/// The questions of a session to the index: one call each, errors as callers of the library see
/// them.
extension Index {
    /// The parts of a target.
    func parts(for target: Target) throws(MirrorError) -> [PartRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.parts(for: target)
        }
    }

    /// The record of a target.
    func record(for target: Target) throws(MirrorError) -> IndexRecord? {
        try reading { (database: inout Database) throws(IndexError) in
            try database.record(for: target)
        }
    }

    /// The records of targets, in the order of the list. One transaction reads them all, because its
    /// locks cost more than the rows.
    func records(for targets: [Target]) throws(MirrorError) -> [IndexRecord?] {
        if targets.isEmpty { return [] }
        return try readingBesideCommits { (database: inout Database) throws(IndexError) in
            try database.run("BEGIN")
            var records: [IndexRecord?] = []
            do throws(IndexError) {
                for target in targets {
                    records.append(try database.record(for: target))
                }
                try database.run("COMMIT")
            } catch {
                try? database.run("ROLLBACK")
                throw error
            }
            return records
        }
    }

    /// The first targets that begin with a text, in the order of their paths' bytes.
    ///
    /// They are those of files that the index knows, and of files that were left out for room.
    func targets(
        beginningWith text: String, limit: Int
    ) throws(MirrorError) -> [Target] {
        let (known, evicted) = try reading { (database: inout Database) throws(IndexError) in
            (
                try database.targets(from: text, limit: limit),
                try database.evictedFiles()
            )
        }
        let left = evicted.lazy.map(\.target)
        return Array(
            Set(known).union(left).filter { $0.path.utf8.starts(with: text.utf8) }.sorted()
                .prefix(limit))
    }

    /// The number of transfers at once that suited each host in earlier runs.
    func learnedLimits() throws(MirrorError) -> [Host: Int] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.learnedLimits()
        }
    }

    /// The files that were left out of Caches or tmp for room, in the order of their paths' bytes.
    func evictedFiles() throws(MirrorError) -> [EvictedFile] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.evictedFiles()
        }
    }

    /// The versions that promotions are about to put in place, or have put there without a row as yet,
    /// and the folders of sets that they exchange.
    func unfinishedPromotions() throws(MirrorError) -> (
        records: [IndexRecord], folders: [String]
    ) {
        try reading { (database: inout Database) throws(IndexError) in
            (
                try database.intents().map(\.record),
                try database.journals().compactMap(\.folder)
            )
        }
    }

    /// The account of the budget; nil if no run had one yet.
    func budgetAccount() throws(MirrorError) -> BudgetAccount? {
        try reading { (database: inout Database) throws(IndexError) in
            try database.budgetAccount()
        }
    }

    /// A walk over the rows from a path on, in the order of their paths' bytes.
    func projectionCursor(from start: String) throws(MirrorError) -> ProjectionCursor {
        try cursor(from: start)
    }

    /// A walk over the rows of an area and those behind it, which knows when each file was last used.
    func cursorOfUses(in area: Area) throws(MirrorError) -> ProjectionCursor {
        try cursor(ProjectionCursor.rowsWithUse, from: area.rawValue + "/")
    }

    /// All parts.
    func allParts() throws(MirrorError) -> [PartRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.parts()
        }
    }

    /// The target whose name a server chose and the first success fixed; nil before.
    func serverName(of key: ServerNameKey) throws(MirrorError) -> Target? {
        try readingBesideCommits { (database: inout Database) throws(IndexError) in
            try database.serverName(of: key)
        }
    }

    /// The manifests that this root remembers.
    func manifests() throws(MirrorError) -> [ManifestRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.manifests()
        }
    }

    /// The runs that are remembered, the earliest first.
    func runs() throws(MirrorError) -> [RunRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try database.runs()
        }
    }

    /// A number that changes whenever another process has written to the index.
    func changeCount() throws(MirrorError) -> Int64 {
        try reading { (database: inout Database) throws(IndexError) in try database.changeCount() }
    }

    func reading<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed { () throws(IndexError) in try read(body) }
    }
}

/// The changes that a session makes to the index: one transaction a call, errors as callers of the
/// library see them.
///
/// Where rows of files change, a run is told that those that its plan has may be others (`RowsState`).
extension Index {
    /// Notes that a target was used.
    func noteUse(of target: Target, at instant: Instant) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in
            try batch.noteUse(of: target, at: instant)
        }
    }

    /// Remembers the number of transfers at once that suits each host.
    func remember(learnedLimits limits: [Host: Int]) throws(MirrorError) {
        if limits.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            try batch.put(learnedLimits: limits, at: SystemClock.now())
        }
    }

    /// Remembers files that are left out now, and forgets those that come back.
    func note(
        evicted: [EvictedFile], readmitted: [Target]
    ) throws(MirrorError) {
        if evicted.isEmpty, readmitted.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            for file in evicted { try batch.put(file) }
            for target in readmitted { try batch.removeEvicted(target) }
        }
    }

    /// Adds bytes to what has been spent of the budget since a period began, by whatever run; returns all of it.
    func charge(_ bytes: Int64, since start: Instant) throws(MirrorError) -> BudgetAccount {
        try writing { (batch: inout Database) throws(IndexError) in
            try batch.chargeBudget(bytes, since: start)
        }
    }

    /// Removes rows in one transaction.
    func removeRecords(_ targets: [Target]) throws(MirrorError) {
        guard !targets.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for target in targets { try batch.removeRecord(of: target) }
        }
    }

    /// Remembers manifests in one transaction.
    ///
    /// - Parameter durably: whether that is on the disk before the call returns.
    func put(_ manifests: [ManifestRecord], durably: Bool = false) throws(MirrorError) {
        try writing(durably: durably) { (batch: inout Database) throws(IndexError) in
            for manifest in manifests { try batch.put(manifest) }
        }
    }

    /// Forgets a manifest, durably; what only it owned loses its row.
    func forgetManifest(named name: String) throws(MirrorError) {
        try changingRows(durably: true) { (batch: inout Database) throws(IndexError) in
            try batch.release(allOf: name)
            try batch.removeManifest(named: name)
        }
    }

    /// Gives all that manifests own to their new names.
    func renameManifests(_ names: [(old: String, new: String)]) throws(MirrorError) {
        guard !names.isEmpty else { return }
        let names = names.map { [$0.old, $0.new] }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for pair in names { try batch.renameManifest(pair[0], to: pair[1]) }
        }
    }

    /// Writes the remaining owners of targets that other manifests have released.
    func setOwners(_ owners: [Target: Owners]) throws(MirrorError) {
        guard !owners.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for (target, owners) in owners {
                try batch.setOwners(owners, of: target)
            }
        }
    }

    /// Writes a run's row.
    func put(_ run: RunRecord) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in try batch.put(run)
        }
    }

    private func changingRows(
        durably: Bool = false, _ body: (inout Database) throws(IndexError) -> Void
    ) throws(MirrorError) {
        rows.change()
        defer { rows.change() }
        try writing(durably: durably, body)
    }

    private func writing<Value: Sendable>(
        durably: Bool = false, _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed { () throws(IndexError) in try write(durably: durably, body) }
    }
}

/// Whether rows that a plan has read are still those of the index.
///
/// A run may rely on them while it is the only one that changes rows, and nothing has changed them since
/// they were read.
final class RowsState: Sendable {
    private static let lastMark = Atomic(0)
    /// The mark differs from all others of the process; `runs` are under way.
    private let state = Mutex((mark: RowsState.freshMark(), runs: 0))

    private static func freshMark() -> Int {
        lastMark.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// What a plan notes before it reads rows; nil while a run may change them.
    var mark: Int? { state.withLock { $0.runs == 0 ? $0.mark : nil } }

    /// Notes that a run begins. Returns its mark if the rows are those of the mark that its plan has.
    func beginRun(since planned: Int?) -> Int? {
        state.withLock { state in
            let areSame = state.runs == 0 && state.mark == planned
            state.runs += 1
            state.mark = RowsState.freshMark()
            return areSame ? state.mark : nil
        }
    }

    /// Notes that a run has ended.
    func endRun() {
        state.withLock { state in
            state.runs -= 1
            state.mark = RowsState.freshMark()
        }
    }

    /// Notes that rows change otherwise; before they do, and after.
    func change() { state.withLock { $0.mark = RowsState.freshMark() } }

    /// Whether the rows are still those of a mark, but for what its own run changed.
    func areThose(of mark: Int?) -> Bool {
        guard let mark else { return false }
        return state.withLock { $0.mark == mark }
    }
}
