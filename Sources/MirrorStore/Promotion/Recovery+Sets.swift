internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Sets whose promotion was interrupted: a committed journal is carried out, any other is undone.
extension Recovery {
    /// Gives the files of a committed set their final names; what each name holds then is settled with
    /// all other intents.
    mutating func carryOn(_ set: SetJournal, _ intents: [PromotionIntent]) throws {
        if !set.isCommitted || set.folder == nil, let aside = set.aside {
            // It was built and not exchanged: it holds further names of files, and no others.
            try oldFolder { _, _, _ in true }.remove(aside)
        }
        guard set.isCommitted else { return }
        settled.finishedSets.append(set.owners)
        if let folder = set.folder, let aside = set.aside {
            if try isNew(folder, set, intents, in: folder) { return }
            if try isNew(aside, set, intents, in: folder), try exchange(aside, with: folder) {
                return
            }
        }
        for intent in intents { try place(intent) }
    }

    /// Finishes a committed set whose files have their names; returns orphans that have no file any more.
    mutating func finish(
        _ set: SetJournal, _ intents: [PromotionIntent]
    ) throws -> [Target] {
        guard set.isCommitted else { return [] }
        if let aside = set.aside, let folder = set.folder {
            let wanted = Dictionary(
                intents.map { (Array($0.record.target.path.utf8), $0) }, uniquingKeysWith: { $1 })
            let known = self
            let kept = try oldFolder { path, entry, status in
                guard let target = try? Target(path) else { return false }
                let intent = wanted[Array(path.utf8)]
                if intent?.replaces == true { return true }
                if let intent, try known.holds(entry, status, intent.record) { return true }
                guard let row = try known.record(of: target) else { return false }
                return try known.holds(entry, status, row)
            }.settle(aside, beside: folder)
            settled.conflicts += kept.map(\.name)
            folders.drop()
        }
        return try set.removals.compactMap { path in try depart(path) }
    }

    /// Removes an orphan that is as its row says; returns it where it has no file any more.
    private mutating func depart(_ path: String) throws -> Target? {
        let target = try Target(path)
        guard let entry = try existing(path), let status = try entry.status() else { return target }
        guard let row = try record(of: target), try holds(entry, status, row) else { return nil }
        try entry.unlink()
        unflushed.append((entry.folder, target.folder))
        return target
    }

    /// Whether a folder holds the new set: all that came to it, and nothing that left.
    private mutating func isNew(
        _ place: String, _ set: SetJournal, _ intents: [PromotionIntent], in folder: String
    ) throws -> Bool {
        guard try existing(place + "/.") != nil else { return false }
        for intent in intents {
            let rest = intent.record.target.path.utf8.dropFirst(folder.utf8.count)
            guard let path = String(rest), let entry = try existing(place + path),
                let status = try entry.status(), try holds(entry, status, intent.record)
            else { return false }
        }
        for path in set.removals {
            guard let rest = String(path.utf8.dropFirst(folder.utf8.count)) else { return false }
            if try existing(place + rest)?.status() != nil { return false }
        }
        return true
    }

    /// Exchanges the folders; false where that cannot be done.
    private mutating func exchange(_ aside: String, with folder: String) throws -> Bool {
        do throws(Errno) {
            let (new, old) = (try folders.entry(aside), try folders.entry(folder))
            try new.exchange(with: old)
            unflushed.append((new.folder, aside))
            unflushed.append((old.folder, folder))
        } catch { return false }
        folders.drop()
        return true
    }

    /// Gives staged bytes their final name, if they have not got it.
    private mutating func place(_ intent: PromotionIntent) throws {
        let target = intent.record.target
        let folder = try folders.make(target.folder)
        let entry = DirectoryEntry(folder: folder.descriptor, name: target.name, path: target.path)
        if let there = try entry.status(), try holds(entry, there, intent.record) { return }
        guard let source = try existing(intent.staged), let status = try source.status(),
            try holds(source, status, intent.record)
        else { return settled.unfinished.append(target) }
        let landing = Landing(
            target: target, content: .part(source.name, status.stamp), record: intent.record,
            expected: .nothing, modified: status.stamp.modified / 1_000_000_000,
            isExecutable: intent.record.isExecutable,
            onConflict: intent.replaces ? .replace : .rename)
        let staged = Staged(
            landing: landing, intent: intent, file: nil, needsFlush: false, isUnnamed: false,
            isDisposable: false)
        do {
            let placed = try Placement(index: index, now: now, probe: PromotionProbe())
                .place(staged, folders: &folders)
            if let conflict = placed.conflict { settled.conflicts.append(conflict) }
        } catch let error as Errno where !error.isNoSpace && error.number != EIO {
            settled.unfinished.append(target)
        } catch PromotionFault.failed {
            settled.unfinished.append(target)
        }
    }

    private func oldFolder(
        _ isOurs: @escaping (String, DirectoryEntry, FileStatus) throws -> Bool
    ) -> OldFolder {
        OldFolder(root: root, now: now, isOurs: isOurs)
    }

    private func record(of target: Target) throws(IndexError) -> IndexRecord? {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.record(for: target)
        }
    }
}
