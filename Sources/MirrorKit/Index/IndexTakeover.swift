internal import CSQLite
internal import Glibc

/// Takes over what other shards' indexes know of a shard's targets, when their number has changed.
///
/// Rows are copied and committed durably, and only then a file beside the old index says so
/// (`IndexFolder`). A crash between the two makes the next run copy them again. When all shards of
/// one number have taken their rows, the last of them removes the old index.
struct IndexTakeover {
    private let root: RootDirectory
    /// The open index of the root's shard, which gets the rows.
    private let index: Index
    /// Sentences for people about what killed runs left in the other indexes.
    private var notices: [String] = []

    private init(_ root: RootDirectory, _ index: Index) { (self.root, self.index) = (root, index) }

    /// How long to wait for a process that holds another index's lock for a moment, and for one
    /// that settles what a killed run left there, in milliseconds.
    private static let (longestMoment, longestSettling): (Int64, Int64) = (2_000, 600_000)

    /// Brings the index of the root's shard up to date. The caller holds the shard's lock.
    ///
    /// Returns sentences for people about what killed runs left in the other indexes. Throws
    /// `MirrorError` with `locked` if a run of another number of shards is under way.
    static func run(_ root: RootDirectory, _ index: Index) throws(MirrorError) -> [String] {
        var takeover = IndexTakeover(root, index)
        do {
            if var own = try IndexFolder(of: root.shard, in: root), !own.takers.isEmpty {
                let folder = own
                try index.write(durably: true) { (batch: inout Database) throws(IndexError) in
                    try batch.removeRows(takenFrom: folder)
                }
                try own.forgetTakers()
            }
            // All locks come first, so that a run which may not begin takes nothing.
            var held: [(folder: IndexFolder, lock: RootLock)] = []
            defer { for (_, lock) in held { lock.release() } }
            for folder in try IndexFolder.others(than: root.shard, in: root) {
                if let lock = try takeover.hold(folder) { held.append((folder, lock)) }
            }
            for (folder, lock) in held {
                var folder = folder
                if folder.mayHaveRows(of: root.shard) { try takeover.take(&folder) }
                // Another process may have taken rows since the folder was opened.
                guard (try? folder.readTakers()) != nil, folder.isUnused,
                    try lock.take(alone: true, folder.shard)
                else { continue }
                try takeover.remove(folder)
            }
            return takeover.notices
        } catch let error as Errno {
            throw MirrorError(error)
        } catch let error as IndexError {
            throw error.mirrorError(in: root.shard.folder)
        } catch {
            throw MirrorError(wrapping: error)
        }
    }

    /// Locks another shard's index together with other readers, after its leftovers are settled.
    ///
    /// Returns nil if the folder was removed meanwhile.
    private mutating func hold(_ folder: IndexFolder) throws -> RootLock? {
        let (shard, descriptor) = (folder.shard, folder.descriptor)
        let began = SystemClock.monotonic()
        while true {
            let hasRows = folder.mayHaveRows(of: root.shard)
            var lock: RootLock?
            do throws(Errno) {
                lock = try RootLock.tryHold(descriptor, of: shard, alone: true)
            } catch {
                if error.number == ENOENT { return nil }
                throw error
            }
            if let lock {
                if hasRows { try settle(folder, under: lock) }
                if try lock.take(alone: false, shard) { return lock }
            }
            if let lock = try RootLock.tryHold(descriptor, of: shard, alone: false) {
                if try !hasRows || isSettled(folder) { return lock }
                lock.release()
            }
            let waited = SystemClock.monotonic() - began
            let isSettling = RootLock.isHeldBySettling(descriptor, of: shard)
            guard
                waited
                    < (isSettling
                        ? IndexTakeover.longestSettling : IndexTakeover.longestMoment)
            else { throw isUnderWay(shard) }
            usleep(20_000)
        }
    }

    private func isUnderWay(_ shard: Shard) -> MirrorError {
        let runs = [shard, root.shard].map {
            "a run of \($0.isWhole ? "all targets" : "shard \($0.text)")"
        }
        return MirrorError(
            .locked,
            "\(root.path): \(runs[0]) is under way, and \(runs[1]) cannot begin beside it.",
            remedy: Remedy(.waitForLock))
    }

    /// Whether an index is sound, and no run left anything to settle in it.
    ///
    /// Throws `IndexError` if it is damaged or has no tables. An attached index is read with the
    /// connection of this shard's own, which must not see another's damage.
    private func isSettled(_ folder: IndexFolder) throws -> Bool {
        let file = folder.file(in: root)
        if try file.size(suffix: "-wal") ?? 0 > 0 { return false }
        var database = try Database(
            file.immutableName, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
            beneath: folder.descriptor)
        try database.runCheck("quick_check")
        return try database.number(
            """
            SELECT (SELECT count(*) FROM intents) + (SELECT count(*) FROM sets)
                + (SELECT count(*) FROM hidden_files)
            """) == 0
    }

    /// Settles what a killed run left in another shard's index, as that shard's next run would.
    private mutating func settle(_ folder: IndexFolder, under lock: RootLock) throws {
        // Even the check takes long in a large index, and others wait for it.
        try lock.noteThatItSettles(folder.shard)
        do { if try isSettled(folder) { return } } catch is IndexError {
            folder.file(in: root).put(.doubted)
        }
        let other = try RootDirectory(opening: root.path, shard: folder.shard)
        let opened = try Index.open(other, now: SystemClock.now())
        let settled: Recovery.Settled
        do {
            settled = try Recovery.settle(
                other, opened, now: SystemClock.now(), removesParts: false)
        } catch {
            try? opened.close()
            throw error
        }
        try opened.close()
        notices += [opened.notice].compactMap(\.self) + settled.notices
        let isInPlace = settled.unfinishedSets.isEmpty
        if try isInPlace && isSettled(folder) { return }
        throw isInPlace
            ? MirrorError(
                .locked,
                "\(root.path): another process reads \(folder.shard.folder)/\(IndexFile.name), whose rows are to be taken over.",
                remedy: Remedy(.waitForLock))
            : MirrorError(
                .usage,
                "\(root.path): a set of an earlier run is not in place yet. Sync its manifest without a shard first."
            )
    }

    /// Copies the rows of the shard's targets.
    private func take(_ folder: inout IndexFolder) throws {
        let (own, other, name) = (root.shard, folder, folder.file(in: root).immutableName)
        try index.writing(attached: name) { (batch: inout Database) throws(IndexError) in
            try batch.copyRows(of: own, from: other)
        }
        // The new index must have its name on the disk before the rows of the old one do not count.
        for parent in root.takeUnflushedFolders() { try parent.flush(path: own.folder) }
        try folder.note(taker: own)
        // A server of the tree looks at this folder to learn that its indexes have changed.
        if let folders = try? root.openFolder(Shard.folders) { futimens(folders.number, nil) }
    }

    /// Removes an unused folder's index; its lock is held alone.
    ///
    /// If a reader has it open, a later run removes it: when that reader closes the index, it would
    /// remove the log of a new one of the same name.
    private func remove(_ folder: IndexFolder) throws {
        if folder.hasIndex {
            let file = folder.file(in: root)
            do throws(IndexError) { try file.checkThatNoneReads() } catch { return }
            try index.writing(attached: file.immutableName) {
                (batch: inout Database) throws(IndexError) in
                try batch.run("INSERT OR IGNORE INTO runs SELECT * FROM former.runs")
            }
        }
        folder.remove(in: root)
    }
}

// MARK: Rows

extension Index {
    /// Runs one durable transaction that can also read another index, as `former`.
    fileprivate func writing(
        attached name: String, _ body: (inout Database) throws(IndexError) -> Void
    ) throws(IndexError) {
        // ATTACH cannot run within a transaction.
        _ = try read { (database: inout Database) throws(IndexError) in
            try database.execute("ATTACH ? AS former") { $0.add(name) }
        }
        defer {
            try? read { (database: inout Database) throws(IndexError) in
                try database.run("DETACH former")
            }
        }
        try write(durably: true, body)
    }
}

extension Database {
    /// Copies the rows of a shard's targets from `former`, which is the index of a folder.
    fileprivate mutating func copyRows(
        of own: Shard, from folder: IndexFolder
    ) throws(IndexError) {
        try define("mirror_counts") { path, isNamed in
            folder.counts(path, for: own, isNamedByServer: isNamed)
        }
        let counts = { (path: String) in
            "mirror_counts(\(path), \(path) IN (SELECT path FROM former.server_names))"
        }
        for table in ["files", "uses", "evicted"] {
            try run(
                "INSERT OR REPLACE INTO \(table) SELECT * FROM former.\(table) WHERE \(counts("path"))"
            )
        }
        try run("INSERT OR REPLACE INTO parts SELECT * FROM former.parts WHERE \(counts("target"))")
        for table in ["part_provenances", "milestones", "extents"] {
            try run(
                """
                INSERT OR REPLACE INTO \(table) SELECT * FROM former.\(table) \
                WHERE part IN (SELECT name FROM main.parts)
                """)
        }
        try run(
            """
            INSERT OR REPLACE INTO server_names SELECT * FROM former.server_names \
            WHERE mirror_counts(path, 1);
            INSERT OR REPLACE INTO meta SELECT * FROM former.meta \
            WHERE key >= 'size ' AND key < 'size!' AND \(counts("substr(key, 6)"));
            INSERT OR IGNORE INTO meta SELECT * FROM former.meta \
            WHERE key >= 'host ' AND key < 'host!';
            INSERT OR REPLACE INTO manifests SELECT * FROM former.manifests AS other \
            WHERE NOT EXISTS (SELECT 1 FROM main.manifests AS known WHERE known.name = other.name \
            AND coalesce(known.synced_at, 0) >= coalesce(other.synced_at, 0));
            """)
        // Each shard gets an equal part of what was spent of the budget.
        guard let spent = try budgetAccount(in: "former") else { return }
        if let known = try budgetAccount(), known.start > spent.start { return }
        _ = try chargeBudget(own.share(of: spent.spent), since: spent.start)
    }

    /// Removes the rows that other shards have taken over from the index of a folder.
    fileprivate mutating func removeRows(takenFrom folder: IndexFolder) throws(IndexError) {
        try define("mirror_taken") { path, isNamed in
            folder.isTaken(path, isNamedByServer: isNamed)
        }
        let isTaken = { (path: String) in
            "mirror_taken(\(path), \(path) IN (SELECT path FROM server_names))"
        }
        for table in ["files", "uses", "evicted"] {
            try run("DELETE FROM \(table) WHERE \(isTaken("path"))")
        }
        try run(
            """
            DELETE FROM parts WHERE \(isTaken("target"));
            DELETE FROM part_provenances WHERE part NOT IN (SELECT name FROM parts);
            DELETE FROM milestones WHERE part NOT IN (SELECT name FROM parts);
            DELETE FROM extents WHERE part NOT IN (SELECT name FROM parts);
            DELETE FROM meta WHERE key >= 'size ' AND key < 'size!' AND \(isTaken("substr(key, 6)"));
            DELETE FROM server_names WHERE mirror_taken(path, 1);
            """)
    }
}
