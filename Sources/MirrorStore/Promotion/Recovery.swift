internal import CLinux
internal import Glibc
package import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Settles what a run left that was killed, or whose machine lost power.
///
/// Each intent says which names a promotion was about to use. A target that holds the intended bytes
/// (they are hashed: an inode number alone proves nothing after a crash) gets its row; any other is
/// left as it is. What an exchange brought out of a target goes when it is the version that mirror
/// had put there, and gets a conflict name when it is not.
package struct Recovery {
    /// What was done.
    package struct Settled: Sendable, Hashable {
        /// Targets whose promotion was completed.
        var completed: [Target] = []
        /// Where other people's bytes went.
        package var conflicts: [Target] = []
        /// Files in `tmp/`, and hidden ones, that belonged to nothing.
        var removedFiles = 0
        /// Rows of parts that have no file.
        var removedRows = 0
        /// The manifests of sets whose promotion was finished.
        package var finishedSets: [Owners] = []
        /// Files of such sets whose bytes are gone, so that they could not be promoted.
        package var lost: [Target] = []
        /// Sets whose promotion cannot be finished yet.
        package var unfinishedSets: [UnfinishedSet] = []
        /// The paths of what such sets are made of: in `tmp/`, or hidden beside targets.
        package var promised: Set<[UInt8]> = []
        /// Where other people's files are that got neither their names nor conflict names.
        package var kept: [String] = []
    }

    let root: RootDirectory
    let index: Index
    let now: Instant
    var folders: FolderCache
    var settled = Settled()
    /// Files and folders to flush before the intents are forgotten, by their paths.
    private var unflushed: [[UInt8]: (descriptor: Descriptor, path: String)] = [:]

    /// Settles everything; the caller holds the root's lock and nothing else is under way.
    package static func settle(
        _ root: RootDirectory, _ index: Index, now: Instant
    ) throws(MirrorError) -> Settled {
        var recovery = Recovery(root: root, index: index, now: now, folders: FolderCache(root))
        do {
            try recovery.settleIntents()
            try recovery.removeHiddenFiles()
            try recovery.settleParts()
        } catch let error as MirrorError {
            throw error
        } catch let error as Errno {
            throw MirrorError(error)
        } catch let error as IndexError {
            throw error.mirrorError
        } catch let error as PromotionFault {
            guard case .failed(let inner) = error else {
                throw MirrorError(.inputOutput, "\(root.path): a flush failed.")
            }
            throw inner
        } catch {
            throw MirrorError(.internalError, "\(root.path): \(error)")
        }
        return recovery.settled
    }

    private mutating func settleIntents() throws {
        let (intents, sets) = try index.read { (database: inout Database) throws(IndexError) in
            (try IntentRows.intents(in: &database), try JournalRows.journals(in: &database))
        }
        guard !intents.isEmpty || !sets.isEmpty else { return }
        var open = sets
        for set in sets where !(try attempts(set, intents) { try $0.carryOn(set, $1) }) {
            open.removeAll { $0.id == set.id }
        }
        // The new names last before what they replace is removed.
        try flushAll()
        var endings: [IntentEnding] = []
        for intent in intents
        where open.contains(where: { $0.contains(intent) })
            || !sets.contains(where: { $0.contains(intent) })
        {
            endings.append(try settle(intent))
            try flushIfMany()
        }
        try flushAll()
        var departed: [Target] = []
        for set in open {
            var gone: [Target] = []
            if try attempts(set, intents, { gone = try $0.finish(set, $1) }) {
                departed += gone
            } else {
                open.removeAll { $0.id == set.id }
                endings.removeAll { set.contains($0.intent) }
            }
        }
        try flushAll()
        let (done, gone, finished) = (endings, departed, open)
        try index.write { (batch: inout Database) throws(IndexError) in
            for ending in done { try ending.write(to: &batch) }
            try IntentRows.removeBatches(in: &batch)
            for target in gone { try FileRows.remove(target, in: &batch) }
            for set in finished { try JournalRows.remove(set.id, in: &batch) }
        }
        try index.makeDurable()
    }

    /// Takes a step of a set; false where something is in the way, so that its journal stays.
    private mutating func attempts(
        _ set: SetJournal, _ intents: [PromotionIntent],
        _ body: (inout Recovery, [PromotionIntent]) throws -> Void
    ) throws -> Bool {
        let intents = intents.filter(set.contains)
        let cause: MirrorError
        do {
            try body(&self, intents)
            return true
        } catch let error as Errno where error.isObstacle || error.isNoSpace {
            cause = MirrorError(error)
        } catch PromotionFault.failed(let error) {
            cause = error
        }
        settled.unfinishedSets.append(UnfinishedSet(set, intents, cause))
        for path in intents.map(\.staged) + [set.aside].compactMap(\.self) {
            settled.promised.insert(Array(path.utf8))
        }
        return false
    }

    /// Has something flushed before the intents are forgotten.
    mutating func noteUnflushed(_ descriptor: Descriptor, _ path: String) {
        unflushed[Array(path.utf8)] = (descriptor, path)
    }

    /// Flushes where more would use up the files that the process may have open.
    mutating func flushIfMany() throws(PromotionFault) {
        if unflushed.count >= FolderCache.most || root.hasManyUnflushedFolders { try flushAll() }
    }

    private mutating func flushAll() throws(PromotionFault) {
        do throws(Errno) {
            for entry in unflushed.values { try entry.descriptor.flush(path: entry.path) }
            for folder in root.takeUnflushedFolders() { try folder.flush(path: root.path) }
        } catch { throw .unflushed(error) }
        unflushed = [:]
    }

    private mutating func settle(_ intent: PromotionIntent) throws -> IntentEnding {
        let target = intent.record.target
        var ending = IntentEnding(intent: intent)
        guard let entry = try existing(target.path) else {
            // The folder is gone, and with it whatever was in it: only the staged file can be left.
            try settleStaged(intent, target: nil, isDone: false)
            return ending
        }
        let there = try entry.status()
        if let there, try holds(entry, there, intent.record) {
            ending.stamp = there.stamp
            settled.completed.append(target)
            noteUnflushed(try entry.open(O_RDONLY), target.path)
        }
        noteUnflushed(entry.folder, target.folder)
        if let path = intent.aside, let aside = try existing(path), let kept = try aside.status() {
            if there == nil {
                try aside.renameToFree(entry)
            } else {
                try settleOut(aside, kept, beside: entry, intent)
            }
        }
        try settleStaged(intent, target: entry, isDone: ending.stamp != nil)
        if intent.kind == .move, ending.stamp != nil {
            ending.isSourceGone = try existing(intent.staged)?.status() == nil
        }
        return ending
    }

    /// Decides what the staged name holds: the new bytes, or what an exchange brought out.
    private mutating func settleStaged(
        _ intent: PromotionIntent, target: DirectoryEntry?, isDone: Bool
    ) throws {
        guard let staged = try existing(intent.staged), let status = try staged.status() else {
            return
        }
        let there = try target?.status()
        if intent.kind == .move {
            // A hard link stood in for the rename, and its old name was not removed yet.
            if isDone, status.stamp.inode == there?.stamp.inode { try staged.unlink() }
            return
        }
        let isStagedFile =
            status.stamp.inode == intent.stagedInode && there?.stamp.inode != intent.stagedInode
        if try isStagedFile || holds(staged, status, intent.record) {
            // A part with a row is continued or verified by this run; anything else is made again.
            let name = staged.name
            let isPart = try index.read { (database: inout Database) throws(IndexError) in
                try PartRows.hasPart(named: name, in: &database)
            }
            if isDone || !isPart { try remove(staged) }
        } else if let target {
            try settleOut(staged, status, beside: target, intent)
        } else {
            let folder = try root.makeFolder(intent.record.target.folder)
            let path = intent.record.target.path
            let entry = DirectoryEntry(folder: folder, name: intent.record.target.name, path: path)
            noteUnflushed(folder, intent.record.target.folder)
            try settleOut(staged, status, beside: entry, intent)
        }
    }

    /// Drops a file that came out of a target when it is mirror's own, else gives it a name.
    private mutating func settleOut(
        _ out: DirectoryEntry, _ status: FileStatus, beside entry: DirectoryEntry,
        _ intent: PromotionIntent
    ) throws {
        let target = intent.record.target
        let row = try index.read { (database: inout Database) throws(IndexError) in
            try FileRows.record(for: target, in: &database)
        }
        let isSecondName = try entry.status()?.stamp.inode == status.stamp.inode
        var isOurs = intent.replaces || isSecondName
        if !isOurs, let row { isOurs = try holds(out, status, row) }
        if isOurs { return try remove(out) }
        settled.conflicts.append(
            try ConflictName.give(to: out, beside: entry, target: target, now: now))
    }

    /// Removes hidden files that were made before their intent was written.
    private mutating func removeHiddenFiles() throws {
        let paths = try index.read { (database: inout Database) throws(IndexError) in
            try HiddenFileRows.paths(in: &database)
        }
        let left = paths.filter { !settled.promised.contains(Array($0.utf8)) }
        for path in left { if let entry = try existing(path) { try remove(entry) } }
        guard !left.isEmpty else { return }
        try index.write { (batch: inout Database) throws(IndexError) in
            for path in left { try HiddenFileRows.forget(path, in: &batch) }
        }
    }

    /// Removes parts without rows, and rows without parts.
    private mutating func settleParts() throws {
        let rows = try index.read { (database: inout Database) throws(IndexError) in
            try PartRows.names(in: &database)
        }
        var names: Set<[UInt8]> = []
        if let folder = try opened(Area.tmp.rawValue) {
            let known = Set(rows.map { Array($0.utf8) })
            for name in try folder.names(path: "tmp") where PartName.isPart(name) {
                let path = TreePartStore.path(of: name)
                if known.contains(Array(name.utf8)) {
                    names.insert(Array(name.utf8))
                } else if !settled.promised.contains(Array(path.utf8)) {
                    try remove(DirectoryEntry(folder: folder, name: name, path: path))
                    // What is left of a set's folder; other people's files in it stay.
                    OldFolder.ofNames(root, now).removeIfEmpty(path)
                }
            }
        }
        let lost = rows.filter { !names.contains(Array($0.utf8)) }
        guard !lost.isEmpty else { return }
        settled.removedRows += lost.count
        try index.write { (batch: inout Database) throws(IndexError) in
            for name in lost { try PartRows.remove(named: name, in: &batch) }
        }
    }

    mutating func remove(_ entry: DirectoryEntry) throws {
        guard let status = try entry.status(), status.kind != .folder else { return }
        try entry.unlink()
        settled.removedFiles += 1
    }

    /// Whether a file has the size and the bytes that a record says.
    func holds(
        _ entry: DirectoryEntry, _ status: FileStatus, _ record: IndexRecord
    ) throws -> Bool {
        guard status.isFile, status.stamp.size == record.stamp.size else { return false }
        let file = try entry.open(O_RDONLY)
        return try FileDigests.compute(file, algorithms: [.sha256], path: entry.path)?.first
            == record.sha256
    }

    /// A name whose folder is there; nil otherwise.
    mutating func existing(_ path: String) throws -> DirectoryEntry? {
        do throws(Errno) { return try folders.entry(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }

    private func opened(_ path: String) throws -> Descriptor? {
        do throws(Errno) { return try root.openFolder(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }
}
