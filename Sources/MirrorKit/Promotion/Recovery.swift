internal import CLinux
internal import Glibc

/// Settles the promotions and files that a run left when it was killed or its machine lost power.
///
/// Each intent says which names a promotion was about to use. Each journal says which set was about
/// to be promoted together. The index keeps intents and journals until their results are on the
/// disk. After a power cut during the recovery, the next run settles them again.
struct Recovery {
    /// The results of a recovery.
    struct Settled: Sendable, Hashable {
        /// Targets whose promotion was completed.
        var completed: [Target] = []
        /// The conflict names that files of other programs got.
        var conflicts: [Target] = []
        /// How many files were removed: leftovers, and old versions of mirror's.
        var removedFiles = 0
        /// How many rows of parts without a file were removed.
        var removedRows = 0
        /// The manifests of sets whose promotion was finished.
        var finishedSets: [Owners] = []
        /// Targets of committed sets whose new bytes are gone, so that they could not be promoted.
        var lost: [Target] = []
        /// Sets whose promotion cannot be finished yet.
        var unfinishedSets: [UnfinishedSet] = []
        /// The paths that unfinished sets still need: in `tmp/`, or hidden beside targets.
        var promised: Set<[UInt8]> = []
        /// The paths of other programs' files that got neither their names nor conflict names.
        var kept: [String] = []

        /// Sentences for people about what was settled.
        var notices: [String] {
            conflicts.map {
                "An interrupted run had found a file that it did not know; it is kept as \($0)."
            }
                + finishedSets.map {
                    "An interrupted run had begun to put \($0) in place; that was finished."
                }
                + lost.map {
                    "\($0): an interrupted run could not put it in place with the rest of its manifest."
                }
                + kept.map {
                    "A file whose name is taken was changed while its folder was put in place; it is kept as \($0)."
                } + unfinishedSets.map(\.cause.message)
        }
    }

    private let tree: RecoveryTree
    private let index: Index
    private let now: Instant
    private let probe: PromotionProbe
    private let removesParts: Bool
    private var settled = Settled()

    private init(
        tree: RecoveryTree, index: Index, now: Instant, probe: PromotionProbe, removesParts: Bool
    ) {
        self.tree = tree
        self.index = index
        self.now = now
        self.probe = probe
        self.removesParts = removesParts
    }

    /// Settles everything. The caller holds the root's lock, and no other work is under way.
    ///
    /// - Parameter removesParts: whether parts without rows are removed. They stay where other
    ///   indexes may have their rows.
    static func settle(
        _ root: RootDirectory, _ index: Index, now: Instant,
        probe: PromotionProbe = PromotionProbe(), removesParts: Bool = true
    ) throws(MirrorError) -> Settled {
        var recovery = Recovery(
            tree: RecoveryTree(root), index: index, now: now, probe: probe,
            removesParts: removesParts)
        do {
            try recovery.settlePromotions()
            try recovery.settleLeftovers()
        } catch let error as MirrorError {
            throw error
        } catch let error as Errno {
            throw MirrorError(error)
        } catch let error as IndexError {
            throw error.mirrorError(in: index.place)
        } catch let error as PromotionError {
            guard case .failed(let inner) = error else {
                throw MirrorError(.inputOutput, "\(root.path): a flush failed.")
            }
            throw inner
        } catch {
            throw MirrorError(.internalError, "\(root.path): \(error)")
        }
        return recovery.settled
    }

    private mutating func settlePromotions() throws {
        let (intents, journals) = try index.read { (database: inout Database) throws(IndexError) in
            (try database.intents(), try database.journals())
        }
        guard !intents.isEmpty || !journals.isEmpty else { return }
        var open: [SetRecovery] = []
        for journal in journals {
            let set = SetRecovery(
                journal: journal, intents: intents.filter(journal.contains), tree: tree,
                index: index, now: now, probe: probe)
            if try set.carryOn(&settled) { open.append(set) }
        }
        // The new names must be on the disk before the files that they replace are removed.
        try tree.flushAll()
        let files = IntentRecovery(tree: tree, index: index, now: now)
        var endings: [IntentEnding] = []
        for intent in intents
        where open.contains(where: { $0.contains(intent) })
            || !journals.contains(where: { $0.contains(intent) })
        {
            endings.append(try files.settle(intent, &settled))
            try tree.flushIfMany()
        }
        try tree.flushAll()
        var departed: [Target] = []
        var finished: [Int64] = []
        for set in open {
            if let gone = try set.finish(&settled) {
                departed += gone
                finished.append(set.journal.id)
            } else {
                endings.removeAll { set.contains($0.intent) }
            }
        }
        try tree.flushAll()
        let (done, gone, ended) = (endings, departed, finished)
        try index.write(durably: true) { (batch: inout Database) throws(IndexError) in
            for ending in done { try ending.write(to: &batch) }
            for target in gone { try batch.removeRecord(of: target) }
            for journal in ended { try batch.removeJournal(journal) }
        }
    }

    private mutating func settleLeftovers() throws {
        let leftovers = Leftovers(tree: tree, index: index)
        try leftovers.removeHiddenFiles(besides: settled.promised)
        if removesParts {
            settled.removedRows += try leftovers.settleParts(besides: settled.promised)
        }
        settled.removedFiles = tree.removedFiles
    }
}

/// Settles the promotion of one file that a run had begun, by its intent.
///
/// A target that holds the intended bytes gets its row; any other target stays as it is. The bytes
/// are hashed, because an inode number alone proves nothing after a crash. A file that an exchange
/// moved out of the target is removed if mirror had put it there. Otherwise the file gets a
/// conflict name.
struct IntentRecovery {
    let tree: RecoveryTree
    let index: Index
    let now: Instant

    /// Settles one intent. Returns the change of the index.
    func settle(
        _ intent: PromotionIntent, _ settled: inout Recovery.Settled
    ) throws -> IntentEnding {
        let target = intent.record.target
        var ending = IntentEnding(intent: intent)
        guard let entry = try tree.existing(target.path) else {
            // The folder is gone with all its files, so only the staged file can be left.
            try settleStaged(intent, target: nil, isDone: false, &settled)
            return ending
        }
        let there = try entry.status()
        if let there, try tree.holds(entry, there, intent.record) {
            ending.stamp = there.stamp
            settled.completed.append(target)
            tree.noteUnflushed(try entry.open(O_RDONLY), target.path)
        }
        tree.noteUnflushed(entry.folder, target.folder)
        try settleAside(intent, beside: entry, &settled)
        try settleStaged(intent, target: entry, isDone: ending.stamp != nil, &settled)
        if intent.kind == .move, ending.stamp != nil {
            ending.isSourceGone = try tree.existing(intent.staged)?.status() == nil
        }
        return ending
    }

    /// Settles the target's old file, which was set aside under a second name.
    /// If the target has no file, the old file goes back. Otherwise it is removed if it is mirror's
    /// own, or gets a conflict name.
    func settleAside(
        _ intent: PromotionIntent, beside entry: DirectoryEntry, _ settled: inout Recovery.Settled
    ) throws {
        guard let path = intent.aside, let aside = try tree.existing(path),
            let kept = try aside.status()
        else { return }
        if try entry.status() == nil {
            try aside.renameToFree(entry)
        } else {
            try settleOut(aside, kept, beside: entry, intent, &settled)
        }
    }

    /// Settles the file under the staged name: the new bytes, or the target's old file.
    private func settleStaged(
        _ intent: PromotionIntent, target: DirectoryEntry?, isDone: Bool,
        _ settled: inout Recovery.Settled
    ) throws {
        guard let staged = try tree.existing(intent.staged), let status = try staged.status() else {
            return
        }
        let there = try target?.status()
        if intent.kind == .move {
            // `renameToFree` made a hard link instead of a rename, and the old name is still there.
            if isDone, status.stamp.inode == there?.stamp.inode { try staged.unlink() }
            return
        }
        let isStagedFile =
            status.stamp.inode == intent.stagedInode && there?.stamp.inode != intent.stagedInode
        if try isStagedFile || tree.holds(staged, status, intent.record) {
            // This run continues or verifies a part with a row. Any other staged file is made
            // again.
            let name = staged.name
            let isPart = try index.read { (database: inout Database) throws(IndexError) in
                try database.hasPart(named: name)
            }
            if isDone || !isPart { try tree.remove(staged) }
        } else if let target {
            try settleOut(staged, status, beside: target, intent, &settled)
        } else {
            let folder = try tree.root.makeFolder(intent.record.target.folder)
            let path = intent.record.target.path
            let entry = DirectoryEntry(folder: folder, name: intent.record.target.name, path: path)
            tree.noteUnflushed(folder, intent.record.target.folder)
            try settleOut(staged, status, beside: entry, intent, &settled)
        }
    }

    /// Removes a target's old file if it is mirror's own. Otherwise the file gets a conflict name.
    private func settleOut(
        _ out: DirectoryEntry, _ status: FileStatus, beside entry: DirectoryEntry,
        _ intent: PromotionIntent, _ settled: inout Recovery.Settled
    ) throws {
        let target = intent.record.target
        let row = try index.read { (database: inout Database) throws(IndexError) in
            try database.record(for: target)
        }
        let isSecondName = try entry.status()?.stamp.inode == status.stamp.inode
        var isOurs = intent.replaces || isSecondName
        if !isOurs, let row { isOurs = try tree.holds(out, status, row) }
        if isOurs { return try tree.remove(out) }
        settled.conflicts.append(
            try ConflictCopy.give(to: out, beside: entry, target: target, now: now))
    }
}

/// The change of the index that settles an intent.
struct IntentEnding: Sendable {
    let intent: PromotionIntent
    /// The target's stamp if it has the intended bytes. `nil` leaves the target's row unchanged.
    var stamp: FileStamp?
    /// Whether the target from which a file was moved has no file any more.
    var isSourceGone = false

    /// Writes the row of a completed promotion, and removes the intent.
    /// Also settles a name that a server chose.
    func write(to database: inout Database) throws(IndexError) {
        try database.settleServerName(intent.record.target, isThere: stamp != nil)
        if let stamp {
            var record = intent.record
            record.stamp = stamp
            try database.put(record)
            if intent.kind == .promotion {
                try database.removePart(named: FolderCache.split(intent.staged).name)
            }
        }
        if isSourceGone {
            try database.removeRecord(path: intent.staged)
        }
        try database.removeIntents([intent.id])
    }
}

/// Removes files of mirror's own that no intent names: hidden files, and parts.
///
/// The files of an unfinished set are promised to the next run, and stay.
struct Leftovers {
    let tree: RecoveryTree
    let index: Index

    /// Removes hidden files that were made before their intent was written.
    func removeHiddenFiles(besides promised: Set<[UInt8]>) throws {
        let paths = try index.read { (database: inout Database) throws(IndexError) in
            try database.hiddenFiles()
        }
        let left = paths.filter { !promised.contains(Array($0.utf8)) }
        for path in left { if let entry = try tree.existing(path) { try tree.remove(entry) } }
        guard !left.isEmpty else { return }
        try index.write { (batch: inout Database) throws(IndexError) in
            for path in left { try batch.forgetHiddenFile(path) }
        }
    }

    /// Removes parts without rows, and rows without parts. Returns the number of these rows.
    ///
    /// Parts of other processes that work in the root have other tags, and rows in other indexes.
    func settleParts(besides promised: Set<[UInt8]>) throws -> Int {
        let rows = try index.read { (database: inout Database) throws(IndexError) in
            try database.partNames()
        }
        var names: Set<[UInt8]> = []
        if let folder = try tree.root.folder(Area.tmp.rawValue) {
            let known = Set(rows.map { Array($0.utf8) })
            for name in try folder.names(path: "tmp") where PartRecord.isName(name) {
                let path = TreePartStore.path(of: name)
                if known.contains(Array(name.utf8)) {
                    names.insert(Array(name.utf8))
                } else if !promised.contains(Array(path.utf8)),
                    PartRecord.hasTag(tree.root.shard.tag, name)
                {
                    try tree.remove(DirectoryEntry(folder: folder, name: name, path: path))
                    // The name may be a folder of an interrupted exchange. Other programs' files in
                    // it stay.
                    removeIfEmpty(path)
                }
            }
        }
        let lost = rows.filter { !names.contains(Array($0.utf8)) }
        guard !lost.isEmpty else { return 0 }
        try index.write { (batch: inout Database) throws(IndexError) in
            for name in lost { try batch.removePart(named: name) }
        }
        return lost.count
    }

    /// Removes a folder that has only empty folders. What cannot be removed waits for a later run.
    private func removeIfEmpty(_ path: String) {
        guard let folder = try? tree.root.openFolder(path),
            let names = try? folder.names(path: path)
        else { return }
        for name in names { removeIfEmpty(path + "/" + name) }
        try? tree.root.removeFolder(path)
    }
}

/// The tree during a recovery: what its names hold, and which changes must be flushed.
///
/// A recovery may follow a power cut, so it trusts no stamp. A name may lead nowhere, and only a
/// file's bytes show its version. Each change is flushed before its intent is removed, because the
/// intent makes the next run repeat a lost change.
final class RecoveryTree {
    let root: RootDirectory
    /// The folders that are open.
    var folders: FolderCache
    /// How many files were removed: leftovers, and old versions of mirror's.
    private(set) var removedFiles = 0
    /// Files and folders to flush, by their paths.
    private var unflushed: [[UInt8]: (descriptor: Descriptor, path: String)] = [:]

    init(_ root: RootDirectory) {
        self.root = root
        folders = FolderCache(root)
    }

    /// Returns the entry of a path. Returns nil if its folder does not exist.
    func existing(_ path: String) throws -> DirectoryEntry? {
        do throws(Errno) { return try folders.entry(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }

    /// Whether a file has the size and the digest of a record.
    func holds(
        _ entry: DirectoryEntry, _ status: FileStatus, _ record: IndexRecord
    ) throws -> Bool {
        guard status.isFile, status.stamp.size == record.stamp.size else { return false }
        let file = try entry.open(O_RDONLY)
        return try FileDigests.compute(file, algorithms: [.sha256], path: entry.path)?.first
            == record.sha256
    }

    /// Removes the file of an entry. Does nothing if the entry is a folder or does not exist.
    func remove(_ entry: DirectoryEntry) throws {
        guard let status = try entry.status(), status.kind != .folder else { return }
        try entry.unlink()
        removedFiles += 1
    }

    /// Notes a file or folder that must be flushed before the intents are removed.
    func noteUnflushed(_ descriptor: Descriptor, _ path: String) {
        unflushed[Array(path.utf8)] = (descriptor, path)
    }

    /// Flushes if so many files wait that their descriptors could run out.
    func flushIfMany() throws(PromotionError) {
        if unflushed.count >= FolderCache.most || root.hasManyUnflushedFolders { try flushAll() }
    }

    /// Flushes everything that was changed so far.
    func flushAll() throws(PromotionError) {
        do throws(Errno) {
            for entry in unflushed.values { try entry.descriptor.flush(path: entry.path) }
            for folder in root.takeUnflushedFolders() { try folder.flush(path: root.path) }
        } catch { throw .unflushed(error) }
        unflushed = [:]
    }
}
