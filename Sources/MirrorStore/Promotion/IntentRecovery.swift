internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// Settles the promotion of one file that a run had begun, by its intent.
///
/// A target that holds the intended bytes (they are hashed: an inode number alone proves nothing after
/// a crash) gets its row; any other is left as it is. What an exchange brought out of a target goes
/// when it is the version that mirror had put there, and gets a conflict name when it is not.
struct IntentRecovery {
    let tree: RecoveryTree
    let index: Index
    let now: Instant

    /// Settles one intent; returns what that changes in the index.
    func settle(
        _ intent: PromotionIntent, _ settled: inout Recovery.Settled
    ) throws -> IntentEnding {
        let target = intent.record.target
        var ending = IntentEnding(intent: intent)
        guard let entry = try tree.existing(target.path) else {
            // The folder is gone, and with it whatever was in it: only the staged file can be left.
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

    /// Decides what was set aside: it goes back where nothing is, and is settled like what came out
    /// of a target where something is.
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

    /// Decides what the staged name holds: the new bytes, or what an exchange brought out.
    private func settleStaged(
        _ intent: PromotionIntent, target: DirectoryEntry?, isDone: Bool,
        _ settled: inout Recovery.Settled
    ) throws {
        guard let staged = try tree.existing(intent.staged), let status = try staged.status() else {
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
        if try isStagedFile || tree.holds(staged, status, intent.record) {
            // A part with a row is continued or verified by this run; anything else is made again.
            let name = staged.name
            let isPart = try index.read { (database: inout Database) throws(IndexError) in
                try PartRows.hasPart(named: name, in: &database)
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

    /// Drops a file that came out of a target when it is mirror's own, else gives it a name.
    private func settleOut(
        _ out: DirectoryEntry, _ status: FileStatus, beside entry: DirectoryEntry,
        _ intent: PromotionIntent, _ settled: inout Recovery.Settled
    ) throws {
        let target = intent.record.target
        let row = try index.read { (database: inout Database) throws(IndexError) in
            try FileRows.record(for: target, in: &database)
        }
        let isSecondName = try entry.status()?.stamp.inode == status.stamp.inode
        var isOurs = intent.replaces || isSecondName
        if !isOurs, let row { isOurs = try tree.holds(out, status, row) }
        if isOurs { return try tree.remove(out) }
        settled.conflicts.append(
            try ConflictName.give(to: out, beside: entry, target: target, now: now))
    }
}
