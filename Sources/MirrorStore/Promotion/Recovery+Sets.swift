internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Sets whose promotion was interrupted: a committed journal is carried out, any other is undone.
extension Recovery {
    /// Gives the files of a committed set their final names; what each name holds then is settled with
    /// all other intents. Throws what is in the way.
    mutating func carryOn(_ set: SetJournal, _ intents: [PromotionIntent]) throws {
        if !set.isCommitted || set.folder == nil, let aside = set.aside {
            // It was built and not exchanged: it holds further names of files, and no others.
            try OldFolder.ofNames(root, now).remove(aside)
        }
        guard set.isCommitted else { return }
        if let folder = set.folder, let aside = set.aside {
            var isThere = try isNew(folder, set, intents, in: folder)
            if !isThere, try isNew(aside, set, intents, in: folder) {
                isThere = try exchange(aside, with: folder)
            }
            if isThere { return try noteExchange(aside, folder) }
        }
        for intent in intents {
            try place(intent)
            try flushIfMany()
        }
    }

    /// Finishes a committed set whose files have their names; returns orphans that have no file any more.
    mutating func finish(
        _ set: SetJournal, _ intents: [PromotionIntent]
    ) throws -> [Target] {
        guard set.isCommitted else { return [] }
        let departed = try set.removals.compactMap { path in try depart(path) }
        if let aside = set.aside, let folder = set.folder {
            let contents = try oldFolder(intents).settle(aside, beside: folder)
            settled.conflicts += contents.kept.compactMap(\.conflict)
            settled.kept += contents.kept.filter { $0.conflict == nil }.map(\.place)
            for path in contents.touched.sorted() {
                noteUnflushed(try root.openFolder(path), path)
                try flushIfMany()
            }
            folders.drop()
        }
        settled.finishedSets.append(set.owners)
        return departed
    }

    private func oldFolder(_ intents: [PromotionIntent]) -> OldFolder {
        let wanted = Dictionary(
            intents.map { (Array($0.record.target.path.utf8), $0) }, uniquingKeysWith: { $1 })
        let known = self
        return OldFolder(root: root, now: now) { path, entry, status in
            guard let target = try? Target(path) else { return false }
            let intent = wanted[Array(path.utf8)]
            if intent?.replaces == true { return true }
            if let intent, try known.holds(entry, status, intent.record) { return true }
            guard let row = try known.record(of: target) else { return false }
            return try known.holds(entry, status, row)
        } isReplaced: { path, entry, status in
            // What stayed, as mirror knows it: a file of other people's may be the later one.
            guard wanted[Array(path.utf8)] == nil, let target = try? Target(path),
                let row = try known.record(of: target)
            else { return false }
            return try known.holds(entry, status, row)
        }
    }

    /// Removes an orphan that is as its row says; returns it where it has no file any more.
    private mutating func depart(_ path: String) throws -> Target? {
        let target = try Target(path)
        guard let entry = try existing(path), let status = try entry.status() else { return target }
        guard let row = try record(of: target), try holds(entry, status, row) else { return nil }
        try entry.unlink()
        noteUnflushed(entry.folder, target.folder)
        try flushIfMany()
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
            // One that somebody edited is in both.
            guard let entry = try existing(place + rest), let status = try entry.status(),
                let row = try record(of: try Target(path))
            else { continue }
            if try holds(entry, status, row) { return false }
        }
        return true
    }

    /// Exchanges the folders; false where that cannot be done.
    private mutating func exchange(_ aside: String, with folder: String) throws -> Bool {
        do throws(Errno) {
            try FolderExchange.perform(aside, with: folder, &folders)
            return true
        } catch { return false }
    }

    /// An exchange lasts once both folders that hold a name of it were flushed.
    private mutating func noteExchange(_ aside: String, _ folder: String) throws {
        for path in [PathText.folder(of: folder), PathText.folder(of: aside)] {
            noteUnflushed(try folders.open(path).descriptor, path)
        }
    }

    /// Gives staged bytes their final name, if they have not got it. Throws what is in the way.
    private mutating func place(_ intent: PromotionIntent) throws {
        let target = intent.record.target
        let folder: FolderCache.Folder
        do throws(Errno) { folder = try folders.make(target.folder) } catch {
            throw obstacle(above: target, error)
        }
        let entry = DirectoryEntry(folder: folder.descriptor, name: target.name, path: target.path)
        noteUnflushed(folder.descriptor, target.folder)
        if let there = try entry.status(), try holds(entry, there, intent.record) { return }
        guard let source = try existing(intent.staged), let status = try source.status(),
            try holds(source, status, intent.record)
        else { return settled.lost.append(target) }
        let landing = Landing(
            target: target, content: .part(source.name, status.stamp), record: intent.record,
            expected: .nothing, modified: status.stamp.modified / 1_000_000_000,
            isExecutable: intent.record.isExecutable,
            onConflict: intent.replaces ? .replace : .rename)
        let staged = StagedFile(
            landing: landing, kind: intent.kind, path: intent.staged, aside: intent.aside,
            stamp: status.stamp)
        let placed = try Placement(index: index, now: now, probe: PromotionProbe())
            .place(staged, folders: &folders)
        if let conflict = placed.conflict { settled.conflicts.append(conflict) }
    }

    /// Names the one folder above a target that is none.
    private func obstacle(above target: Target, _ error: Errno) -> Errno {
        guard [ENOTDIR, ELOOP].contains(error.number) else { return error }
        var path = ""
        for component in target.folder.parts(at: "/") {
            path += path.isEmpty ? String(component) : "/" + String(component)
            do throws(Errno) { _ = try root.openFolder(path) } catch {
                return Errno(number: error.number, call: error.call, path: path)
            }
        }
        return error
    }

    private func record(of target: Target) throws(IndexError) -> IndexRecord? {
        try index.read { (database: inout Database) throws(IndexError) in
            try FileRows.record(for: target, in: &database)
        }
    }
}
