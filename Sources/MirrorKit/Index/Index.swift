internal import CSQLite
internal import Synchronization

/// The index: what mirror knows of each target, part and run, in SQLite behind a mutex.
///
/// Any thread may read and write; calls are short. Each commit reaches the write-ahead log. A
/// commit reaches the disk only where a promise depends on it (`write(durably:_:)`). A crash of the
/// machine loses the commits after the last durable one. Each commit survives whole or not at all,
/// and none survives without the commits before it.
final class Index: Sendable {
    /// How further connections are opened. `nil` means that the index is only in memory.
    private let location: IndexLocation?
    private let connection: Mutex<Database>
    /// Whether the index has a write-ahead log. Then another connection can read while a commit waits
    /// for the disk.
    private let readsBesideCommits: Bool
    /// The connection that runs read with. `nil` until a run first reads.
    private let runsConnection = Mutex<Database?>(nil)
    /// The indexes that this one joins for reading, when processes share the work of a root.
    /// Empty for an index of its own.
    let members: [Member]
    private let damage: IndexDamage
    private let isWriter: Bool
    private let isClosed = Atomic<Bool>(false)
    /// Whether the name of the write-ahead log is on the disk.
    private let isLogNamed = Atomic<Bool>(false)
    /// The number of pages in the log that starts a checkpoint, at SQLite's usual 4 KiB a page.
    private static let pagesToCheckpoint = 2048
    /// The number of pages in the log that starts the next checkpoint.
    ///
    /// A reader may keep the log from starting over. With a fixed limit, each commit would then try
    /// a checkpoint.
    private let nextCheckpoint = Atomic(Index.pagesToCheckpoint)
    /// Says whether the rows that a plan has read are still the rows of the index.
    let rows = RowsState()
    /// A sentence for the user if the index was found damaged when it was opened, else nil.
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
        members = []
        damage = IndexDamage(markedBeside: isWriter ? location?.file : nil)
        if let location { location.file.noteOpened() }
    }

    /// Joins indexes for reading.
    init(joining members: [Member]) throws(IndexError) {
        self.members = members
        readsBesideCommits = false
        notice = nil
        location = nil
        connection = Mutex(try Database(":memory:", flags: SQLITE_OPEN_READWRITE))
        isWriter = false
        damage = IndexDamage(markedBeside: nil)
    }

    /// An index that another one joins.
    struct Member {
        let index: Index
        let folder: IndexFolder
        /// The shard that reads.
        let reader: Shard
        /// The targets whose names servers chose.
        let namedByServers: Set<[UInt8]>

        /// Whether rows for a path count in this index.
        func counts(_ path: some Collection<UInt8>) -> Bool {
            let isNamed = !namedByServers.isEmpty && namedByServers.contains(Array(path))
            return folder.counts(path, for: reader, isNamedByServer: isNamed)
        }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring), let location { location.file.noteClosed() }
    }

    /// Whether this index shows what other processes write.
    var isLive: Bool {
        members.isEmpty ? location?.isLive ?? false : members.allSatisfy(\.index.isLive)
    }

    /// The path of the index's folder below the root.
    var place: String { location?.file.place ?? Shard.whole.folder }

    /// Whether a read of the index showed damage, certain or not.
    var hasSeenDamage: Bool { damage.isSeen || members.contains(where: \.index.hasSeenDamage) }

    /// Reads with the connection that writes, so the closure sees all that was written.
    ///
    /// The parts, the promotion and the recovery call this and `write` directly. The session and
    /// the run use the methods of the extensions below, which call these two.
    func read<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try connection.withLock { database throws(IndexError) in
            try damage.refuseReadingIfLost()
            do throws(IndexError) { return try body(&database) } catch { throw damage.noted(error) }
        }
    }

    /// Reads with a connection of its own, which does not wait for a commit that waits for the
    /// disk.
    ///
    /// The closure sees every commit that has returned.
    private func readingBesideCommits<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        guard readsBesideCommits, let location, !isClosed.load(ordering: .acquiring) else {
            return try reading(body)
        }
        let value = try indexed(in: place) { () throws(IndexError) in
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

    /// Runs one transaction: the index gets all that the closure writes, or nothing.
    ///
    /// - Parameter durably: whether this commit and all earlier ones are on the disk before the
    ///   call returns (`PRAGMA synchronous`). An error of that flush is final.
    func write<Value: Sendable>(
        durably: Bool = false, _ body: (inout Database) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        let (value, pages) = try connection.withLock { database throws(IndexError) in
            try damage.refuseIfLost()
            do throws(IndexError) {
                // EXTRA equals FULL in WAL mode. In other modes it also makes the end of the
                // journal durable.
                if durably { try database.run("PRAGMA synchronous = EXTRA") }
                try database.run("BEGIN IMMEDIATE")
                let value = try body(&database)
                try database.run("COMMIT")
                if durably { try nameLog() }
                if durably { try database.run("PRAGMA synchronous = NORMAL") }
                return (value, database.pagesInLog)
            } catch {
                // SQLite has already rolled back after some errors; then this statement has no
                // effect.
                try? database.run("ROLLBACK")
                try? database.run("PRAGMA synchronous = NORMAL")
                throw damage.noted(error)
            }
        }
        checkpoint(pages)
        return value
    }

    /// Copies a long log into the database, over a second connection, so that no other call waits.
    ///
    /// The commit before the checkpoint stands, so an error here ends no transaction. A final error
    /// makes the next write fail. If the disk has no room for the database to grow, the log grows
    /// instead.
    private func checkpoint(_ pages: Int) {
        if pages < Index.pagesToCheckpoint {
            return nextCheckpoint.store(Index.pagesToCheckpoint, ordering: .relaxed)
        }
        guard let location, pages >= nextCheckpoint.load(ordering: .relaxed) else { return }
        nextCheckpoint.store(pages + Index.pagesToCheckpoint, ordering: .relaxed)
        do throws(IndexError) {
            var other = try location.connect()
            // A connection that has not read yet does not know that there is a log.
            _ = try other.number("PRAGMA user_version")
            try other.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
        } catch {
            if !error.isUnwritable { _ = damage.noted(error) }
        }
    }

    /// Flushes the folder of the log, once in the life of the index.
    ///
    /// SQLite only calls fdatasync(2) for the folder and ignores its error (`unixSync` in
    /// os_unix.c). fdatasync(2) need not write a new name.
    private func nameLog() throws(IndexError) {
        guard let location, !isLogNamed.exchange(true, ordering: .acquiringAndReleasing) else {
            return
        }
        do throws(Errno) { try location.file.folder.flush(path: location.file.place) } catch {
            throw .unflushed(error)
        }
    }

    /// Returns a cursor over the rows whose paths are not less than `start`.
    private func cursor(
        _ sql: String = ProjectionCursor.rows, from start: String
    ) throws(MirrorError) -> ProjectionCursor {
        if members.isEmpty { return ProjectionCursor([try walk(sql, from: start)]) }
        return ProjectionCursor(
            try members.map { member throws(MirrorError) in
                let walk = try member.index.walk(sql, from: start)
                walk.counts = { member.counts($0) }
                return walk
            })
    }

    private func walk(_ sql: String, from start: String) throws(MirrorError) -> RowWalk {
        do throws(IndexError) {
            try damage.refuseReadingIfLost()
            return try RowWalk(try location?.connect(), sql, from: start) {
                self.damage.noted($0).mirrorError(in: self.place)
            }
        } catch { throw damage.noted(error).mirrorError(in: place) }
    }

    /// Reads the index, or each of the indexes that it joins. The closure also gets a function that
    /// says whether the rows of a target count there.
    func each<Value: Sendable>(
        _ body: (inout Database, (Target) -> Bool) throws(IndexError) -> Value
    ) throws(MirrorError) -> [Value] {
        if members.isEmpty {
            return [
                try reading { (database: inout Database) throws(IndexError) in
                    try body(&database) { _ in true }
                }
            ]
        }
        return try members.map { member throws(MirrorError) in
            try member.index.reading { (database: inout Database) throws(IndexError) in
                try body(&database) { member.counts($0.path.utf8) }
            }
        }
    }

    /// Copies the log into the database file and removes the log. Later calls of the index fail.
    ///
    /// A damaged index stays in place: the next run finds its mark, moves the index aside and
    /// reports it. If the mark cannot be written, this call moves the index aside.
    func close() throws(MirrorError) {
        if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
        runsConnection.withLock { $0 = nil }
        for member in members { try member.index.close() }
        try indexed(in: place) { () throws(IndexError) in
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

/// Queries of the index for a session: one transaction a call. They throw `MirrorError`.
extension Index {
    /// The parts of a target.
    func parts(for target: Target) throws(MirrorError) -> [PartRecord] {
        try each { (database: inout Database, counts) throws(IndexError) in
            counts(target) ? try database.parts(for: target) : []
        }.flatMap(\.self)
    }

    /// The record of a target.
    func record(for target: Target) throws(MirrorError) -> IndexRecord? {
        try each { (database: inout Database, counts) throws(IndexError) in
            counts(target) ? try database.record(for: target) : nil
        }.lazy.compactMap(\.self).first
    }

    /// The records of targets, in the order of the list.
    ///
    /// One transaction reads all of them, because its locks cost more than the rows.
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

    /// The first `limit` targets whose paths begin with a text, in the order of their paths' bytes.
    ///
    /// The targets are of files that the index knows, and of files that were left out for lack of
    /// space.
    func targets(
        beginningWith text: String, limit: Int
    ) throws(MirrorError) -> [Target] {
        let found = try each { (database: inout Database, counts) throws(IndexError) in
            let known = try database.targets(from: text, limit: limit)
            return (known + (try database.evictedFiles().map(\.target))).filter {
                $0.path.utf8.starts(with: text.utf8) && counts($0)
            }
        }
        return Array(Set(found.joined()).sorted().prefix(limit))
    }

    /// The number of transfers at once that suited each host in earlier runs.
    func learnedLimits() throws(MirrorError) -> [Host: Int] {
        try each { (database: inout Database, _) throws(IndexError) in
            try database.learnedLimits()
        }.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }

    /// The files left out of Caches or tmp for lack of space, in the order of their paths' bytes.
    func evictedFiles() throws(MirrorError) -> [EvictedFile] {
        try each { (database: inout Database, counts) throws(IndexError) in
            try database.evictedFiles().filter { counts($0.target) }
        }.flatMap(\.self).sorted { $0.target < $1.target }
    }

    /// The promotions that are under way or were interrupted.
    ///
    /// `records`: the version that each promotion gives its target; the file may have its final
    /// name already. `folders`: the folders of sets that promotions exchange as a whole.
    func unfinishedPromotions() throws(MirrorError) -> (
        records: [IndexRecord], folders: [String]
    ) {
        let all = try each { (database: inout Database, _) throws(IndexError) in
            (
                records: try database.intents().map(\.record),
                folders: try database.journals().compactMap(\.folder)
            )
        }
        return (all.flatMap(\.records), all.flatMap(\.folders))
    }

    /// The account of the budget: that of the latest period. Returns nil if no run has had a budget.
    func budgetAccount() throws(MirrorError) -> BudgetAccount? {
        let accounts = try each { (database: inout Database, _) throws(IndexError) in
            try database.budgetAccount()
        }.compactMap(\.self)
        guard let start = accounts.map(\.start).max() else { return nil }
        return accounts.filter { $0.start == start }.reduce(
            BudgetAccount(start: start, spent: 0)
        ) { BudgetAccount(start: start, spent: $0.spent.addingSaturated($1.spent)) }
    }

    /// Returns a cursor over the rows whose paths are not less than `start`, in the order of their
    /// bytes.
    func projectionCursor(from start: String) throws(MirrorError) -> ProjectionCursor {
        try cursor(from: start)
    }

    /// Returns a cursor from an area's first row on that also reads when each file was last used.
    func cursorOfUses(in area: Area) throws(MirrorError) -> ProjectionCursor {
        try cursor(ProjectionCursor.rowsWithUse, from: area.rawValue + "/")
    }

    /// All parts.
    func allParts() throws(MirrorError) -> [PartRecord] {
        try each { (database: inout Database, counts) throws(IndexError) in
            try database.parts().filter { counts($0.target) }
        }.flatMap(\.self)
    }

    /// The target whose name a server chose. Returns nil until a first success has fixed the name.
    func serverName(of key: ServerNameKey) throws(MirrorError) -> Target? {
        if members.isEmpty {
            return try readingBesideCommits { (database: inout Database) throws(IndexError) in
                try database.serverName(of: key)
            }
        }
        return try each { (database: inout Database, counts) throws(IndexError) in
            try database.serverName(of: key).flatMap { counts($0) ? $0 : nil }
        }.lazy.compactMap(\.self).first
    }

    /// The manifests that this root remembers, in the order of their names.
    ///
    /// If several shards remember one, its last sync counts.
    func manifests() throws(MirrorError) -> [ManifestRecord] {
        let all = try each { (database: inout Database, _) throws(IndexError) in
            try database.manifests()
        }
        if all.count == 1 { return all[0] }
        var latest: [String: ManifestRecord] = [:]
        for record in all.joined() {
            let other = latest[record.name]?.syncedAt
            if let other, other >= record.syncedAt ?? other { continue }
            latest[record.name] = record
        }
        return latest.values.sorted { $0.name < $1.name }
    }

    /// The runs that are remembered, the earliest first.
    func runs() throws(MirrorError) -> [RunRecord] {
        try each { (database: inout Database, _) throws(IndexError) in
            try database.runs()
        }.flatMap(\.self).sorted { $0.id < $1.id }
    }

    /// A number that changes whenever another process has written to the index.
    func changeCount() throws(MirrorError) -> Int64 {
        try each { (database: inout Database, _) throws(IndexError) in
            try database.changeCount()
        }.reduce(0) { $0 &* 31 &+ $1 }
    }

    func reading<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed(in: place) { () throws(IndexError) in try read(body) }
    }
}

/// Changes that a session makes to the index: one transaction a call. They throw `MirrorError`.
///
/// A method that changes rows of files also changes the mark in `rows` (`RowsState`). A run under
/// way then no longer relies on the rows that its plan read.
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

    /// Remembers files that are now left out for lack of space, and forgets readmitted files.
    func note(
        evicted: [EvictedFile], readmitted: [Target]
    ) throws(MirrorError) {
        if evicted.isEmpty, readmitted.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            for file in evicted { try batch.put(file) }
            for target in readmitted { try batch.removeEvicted(target) }
        }
    }

    /// The sizes of files that found no room, as servers told them.
    func learnedSizes() throws(MirrorError) -> [(target: Target, size: Int64)] {
        try each { (database: inout Database, counts) throws(IndexError) in
            try database.learnedSizes().filter { counts($0.target) }
        }.flatMap(\.self)
    }

    /// Remembers the sizes of files that found no room, and forgets others.
    func note(
        learned: [(target: Target, size: Int64)], unlearned: [Target]
    ) throws(MirrorError) {
        if learned.isEmpty, unlearned.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            for target in unlearned { try batch.forgetSize(of: target) }
            for file in learned { try batch.put(size: file.size, of: file.target) }
        }
    }

    /// Adds bytes to what all runs have spent of the budget since `start`; returns the new account.
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
    /// - Parameter durably: whether the commit is on the disk before the call returns.
    func put(_ manifests: [ManifestRecord], durably: Bool = false) throws(MirrorError) {
        try writing(durably: durably) { (batch: inout Database) throws(IndexError) in
            for manifest in manifests { try batch.put(manifest) }
        }
    }

    /// Forgets a manifest, durably. Targets that only this manifest owned lose their rows.
    func forgetManifest(named name: String) throws(MirrorError) {
        try changingRows(durably: true) { (batch: inout Database) throws(IndexError) in
            try batch.release(allOf: name)
            try batch.removeManifest(named: name)
        }
    }

    /// Makes each new name the owner of all targets that its old name owned.
    func renameManifests(_ names: [(old: String, new: String)]) throws(MirrorError) {
        guard !names.isEmpty else { return }
        let names = names.map { [$0.old, $0.new] }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for pair in names { try batch.renameManifest(pair[0], to: pair[1]) }
        }
    }

    /// Gives the row of an unchanged file the stamp that the file has now.
    func setStamp(_ stamp: FileStamp, of target: Target) throws(MirrorError) {
        try changingRows { (batch: inout Database) throws(IndexError) in
            try batch.setStamp(stamp, ofFileAt: target.path)
        }
    }

    /// Writes the remaining owners of targets after manifests have released them.
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
        try indexed(in: place) { () throws(IndexError) in try write(durably: durably, body) }
    }
}

/// Says whether the rows that a plan has read are still the rows of the index.
///
/// A run may rely on the rows of its plan on two conditions. It is the only run that changes rows,
/// and nothing has changed the rows since the plan read them.
final class RowsState: Sendable {
    private static let lastMark = Atomic(0)
    /// `mark`: a number that no other state of this process has had; `runs`: the runs under way.
    private let state = Mutex((mark: RowsState.freshMark(), runs: 0))

    private static func freshMark() -> Int {
        lastMark.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// A plan notes this mark before it reads rows. `nil` means that a run under way may change
    /// rows.
    var mark: Int? { state.withLock { $0.runs == 0 ? $0.mark : nil } }

    /// Notes that a run begins, and returns the run's own mark.
    ///
    /// Returns nil if another run is under way, or if rows changed after its plan noted `planned`.
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

    /// Notes a change of rows by other code than a run; called before the change and after.
    func change() { state.withLock { $0.mark = RowsState.freshMark() } }

    /// Whether no code but the run with this mark has changed rows since that run began.
    func areThose(of mark: Int?) -> Bool {
        guard let mark else { return false }
        return state.withLock { $0.mark == mark }
    }
}
