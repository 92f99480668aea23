internal import Glibc

/// Settles a set whose promotion was interrupted.
/// A committed journal is carried out, and any other is undone.
///
/// An obstacle may be in the way that only people can remove. Then the journal stays, and so do the
/// files of the set. The rest of the root is not affected.
struct SetRecovery {
    let journal: SetJournal
    /// The intents of the set's files.
    let intents: [PromotionIntent]
    let tree: RecoveryTree
    let index: Index
    let now: Instant
    let probe: PromotionProbe

    /// Whether an intent belongs to the set.
    func contains(_ intent: PromotionIntent) -> Bool { journal.contains(intent) }

    /// Gives the files of a committed set their final names.
    /// Returns false if an obstacle is in the way. The recovery then settles each name together
    /// with all other intents.
    func carryOn(_ settled: inout Recovery.Settled) throws -> Bool {
        try attempt(&settled, carryOut) != nil
    }

    /// Finishes a committed set whose files have their names.
    /// Returns the orphans that have no file any more. Returns nil if an obstacle is in the way.
    func finish(_ settled: inout Recovery.Settled) throws -> [Target]? {
        try attempt(&settled, end)
    }

    /// Runs a step. Returns nil if an obstacle is in the way, so that the journal stays.
    private func attempt<Value>(
        _ settled: inout Recovery.Settled, _ step: (inout Recovery.Settled) throws -> Value
    ) throws -> Value? {
        let cause: MirrorError
        do { return try step(&settled) } catch let error as Errno
            where error.isInTheWay || error.isNoSpace
        {
            cause = MirrorError(error)
        } catch PromotionError.failed(let error) {
            cause = error
        }
        settled.unfinishedSets.append(UnfinishedSet(journal, intents, cause))
        for path in intents.map(\.staged) + [journal.aside].compactMap(\.self) {
            settled.promised.insert(Array(path.utf8))
        }
        return nil
    }

    /// The step of `carryOn`. Throws the error of an obstacle.
    private func carryOut(_ settled: inout Recovery.Settled) throws {
        if !journal.isCommitted || journal.folder == nil, let aside = journal.aside {
            try FolderExchange.remove(aside, in: tree.root)
        }
        guard journal.isCommitted else { return }
        if let exchange {
            var isThere = try isNew(exchange.folder, in: exchange.folder)
            if !isThere, try isNew(exchange.aside, in: exchange.folder) {
                isThere = (try? exchange.exchange(&tree.folders)) != nil
            }
            if isThere {
                // An exchange lasts once the folders above both of its names are flushed.
                for path in [exchange.folder, exchange.aside].map(PathText.folder) {
                    tree.noteUnflushed(try tree.folders.open(path).descriptor, path)
                }
                return
            }
        }
        for intent in intents {
            try place(intent, &settled)
            try tree.flushIfMany()
        }
    }

    /// The exchange of the set's folder. `nil` means that no new folder was built.
    private var exchange: FolderExchange? {
        guard let folder = journal.folder, let aside = journal.aside else { return nil }
        return FolderExchange(
            folder: folder, aside: aside, intents: intents, root: tree.root,
            placement: Placement(index: index, now: now, probe: probe))
    }

    /// The step of `finish`. Throws the error of an obstacle.
    private func end(_ settled: inout Recovery.Settled) throws -> [Target] {
        guard journal.isCommitted else { return [] }
        let departed = try journal.removals.compactMap { path in try depart(path) }
        if let exchange {
            let foreign = try exchange.settle()
            settled.kept += foreign.kept
            for path in foreign.touched.sorted() {
                tree.noteUnflushed(try tree.root.openFolder(path), path)
                try tree.flushIfMany()
            }
            tree.folders.drop()
        }
        settled.finishedSets.append(journal.owners)
        return departed
    }

    /// Removes an orphan whose bytes are those of its row.
    /// Returns the target if it has no file any more. Returns nil if the file was edited and stays.
    private func depart(_ path: String) throws -> Target? {
        let target = try Target(path)
        guard let entry = try tree.existing(path), let status = try entry.status() else {
            return target
        }
        // The reading may have taken long, so the file must still be the one that was read.
        guard let row = try record(of: target), try tree.holds(entry, status, row),
            try entry.status()?.stamp == status.stamp
        else { return nil }
        try entry.unlink()
        tree.noteUnflushed(entry.folder, target.folder)
        try tree.flushIfMany()
        return target
    }

    /// Whether a folder holds the new set: all new files, and no removed orphan.
    private func isNew(_ place: String, in folder: String) throws -> Bool {
        guard try tree.existing(place + "/.") != nil else { return false }
        for intent in intents {
            let rest = intent.record.target.path.utf8.dropFirst(folder.utf8.count)
            guard let path = String(rest), let entry = try tree.existing(place + path),
                let status = try entry.status(), try tree.holds(entry, status, intent.record)
            else { return false }
        }
        for path in journal.removals {
            guard let rest = String(path.utf8.dropFirst(folder.utf8.count)) else { return false }
            // An edited orphan is in both folders, so it decides nothing.
            guard let entry = try tree.existing(place + rest), let status = try entry.status(),
                let row = try record(of: try Target(path))
            else { continue }
            if try tree.holds(entry, status, row) { return false }
        }
        return true
    }

    /// Gives staged bytes their final name, unless the target has them already.
    /// Throws the error of an obstacle.
    private func place(
        _ intent: PromotionIntent, _ settled: inout Recovery.Settled
    ) throws {
        let target = intent.record.target
        let folder: FolderCache.Folder
        do throws(Errno) { folder = try tree.folders.make(target.folder) } catch {
            throw obstacle(above: target, error)
        }
        let entry = DirectoryEntry(folder: folder.descriptor, name: target.name, path: target.path)
        tree.noteUnflushed(folder.descriptor, target.folder)
        if let there = try entry.status(), try tree.holds(entry, there, intent.record) { return }
        // The name `aside` must be free before the placement uses it again.
        try IntentRecovery(tree: tree, index: index, now: now)
            .settleAside(intent, beside: entry, &settled)
        guard let source = try tree.existing(intent.staged), let status = try source.status(),
            try tree.holds(source, status, intent.record)
        else { return settled.lost.append(target) }
        let promotion = Promotion(
            target: target, content: .part(source.name, status.stamp), record: intent.record,
            expected: .nothing, modified: status.stamp.modified / 1_000_000_000,
            isExecutable: intent.record.isExecutable,
            onConflict: intent.replaces ? .replace : .rename)
        let staged = StagedFile(
            promotion: promotion, kind: intent.kind, path: intent.staged, aside: intent.aside,
            stamp: status.stamp)
        let placed = try Placement(index: index, now: now, probe: probe)
            .place(staged, folders: &tree.folders)
        if let conflict = placed.conflict { settled.conflicts.append(conflict) }
    }

    /// Returns the error with the path of the component above a target that is no folder.
    private func obstacle(above target: Target, _ error: Errno) -> Errno {
        guard [ENOTDIR, ELOOP].contains(error.number) else { return error }
        var path = ""
        for component in target.folder.parts(at: "/") {
            path += path.isEmpty ? String(component) : "/" + String(component)
            do throws(Errno) { _ = try tree.root.openFolder(path) } catch {
                return Errno(number: error.number, call: error.call, path: path)
            }
        }
        return error
    }

    private func record(of target: Target) throws(IndexError) -> IndexRecord? {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.record(for: target)
        }
    }
}

/// A set whose interrupted promotion cannot be finished now, because an obstacle is in the way.
///
/// The journal of the set stays, and each run tries again. Until then the files of the set must not
/// change. The rest of the tree may change.
struct UnfinishedSet: Sendable, Hashable {
    /// The manifests of the set.
    let owners: Owners
    /// The obstacle, its path, and what to do.
    let cause: MirrorError
    private let targets: Set<[UInt8]>
    private let folder: String?

    init(_ journal: SetJournal, _ intents: [PromotionIntent], _ cause: MirrorError) {
        owners = journal.owners
        targets = Set(
            intents.map { Array($0.record.target.path.utf8) }
                + journal.removals.map { Array($0.utf8) })
        folder = journal.folder
        self.cause = MirrorError(
            cause.code,
            """
            \(cause.message) An interrupted run had begun to put \(owners) in place together, and \
            that can go on when this is out of the way: run again then.
            """, target: cause.target)
    }

    /// Whether a target belongs to the set, or lies in its folder.
    func contains(_ target: Target) -> Bool {
        if targets.contains(Array(target.path.utf8)) { return true }
        guard let folder else { return false }
        return target.path.utf8.starts(with: (folder + "/").utf8)
    }

    /// Whether a work would change a file of the set.
    func concerns(_ work: PromotionWork) -> Bool {
        switch work.task {
        case .promote(let promotion): concerns(promotion)
        case .confirm(let confirmed): contains(confirmed.target)
        case .remove(let removal): contains(removal.target)
        case .promoteSet(let set):
            !Set(set.set.owners).isDisjoint(with: owners.names)
                || set.promotions.contains { concerns($0.promotion) }
                || set.removals.contains { contains($0.removal.target) }
        }
    }

    private func concerns(_ promotion: Promotion) -> Bool {
        if case .move(let source) = promotion.content, contains(source) { return true }
        return contains(promotion.target)
    }
}
