internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The promotion of a set up to its commit: everything is prepared, then the journal is committed.
///
/// Whatever can fail is tried here: until the commit the set can be left as it was. From the commit on,
/// this run or the next carries the journal out (`CommittedSet`). The steps are those of a
/// `PromotionBatch`, with one more flush; where the set has a folder to itself, one exchange stands for
/// all renames.
struct SetPromotion {
    /// How the preparation ended.
    enum Preparation {
        /// The set is as it was, for these reasons.
        case left(SetResult)
        /// The set cannot be left as it was any more.
        case committed(CommittedSet)
    }

    private let set: SetLanding
    private var group: PromotionGroup
    private var exchange: FolderExchange?
    private var journal: SetJournal
    /// A flush of a staged file that failed, which is final.
    private var unflushed: Errno?

    init(_ set: SetLanding, in environment: PromotionEnvironment) {
        self.set = set
        // The works carry the landings through the group; nobody is told one by one.
        let works = set.landings.map {
            PromotionWork(task: .land($0.landing), number: $0.position, receiver: Silence.receiver)
        }
        group = PromotionGroup(works, in: environment)
        journal = SetJournal(owners: Owners(set.set.owners))
        journal.removals = set.removals.map(\.removal.target.path)
    }

    /// Prepares the set and commits its journal, or leaves the tree as it is. Throws what ends every
    /// later promotion too.
    consuming func prepare() throws(PromotionFault) -> Preparation {
        do throws(MirrorError) {
            try stage()
            try checkTargets()
            try checkRemovals()
        } catch {
            let result = undo(because: error)
            if let unflushed { throw .unflushed(unflushed) }
            return .left(result)
        }
        try group.reached(.staged)
        do throws(IndexError) { try intend() } catch {
            let result = undo(because: error.mirrorError)
            if case .unflushed(let error) = error { throw .unflushed(error) }
            return .left(result)
        }
        try group.reached(.intended)
        do throws(PromotionFault) {
            try buildAside()
            try group.reached(.builtAside)
            try group.flush(.bytes)
            try flushFolders()
            try group.reached(.flushedBytes)
            try commit()
        } catch {
            // What a test stops is left as a crash would leave it.
            if case .stopped = error { throw error }
            _ = undo(because: nil)
            throw error
        }
        return .committed(
            CommittedSet(set: set, group: group, exchange: exchange, journal: journal))
    }

    /// The position of the member that failed, for `undo`.
    private func failed(_ at: Int, _ error: MirrorError) -> MirrorError {
        var error = error
        error.target = set.landings[at].landing.target
        return error
    }

    private mutating func stage() throws(MirrorError) {
        var staging = Staging(
            index: group.environment.index, groupDevice: group.groupDevice,
            unnamed: group.environment.unnamed)
        // A file without a name would have to stay open until the end.
        staging.makesUnnamed = false
        for (at, member) in set.landings.enumerated() {
            do throws(MirrorError) {
                let item = try group.stage(member.landing, at: at, by: &staging)
                do throws(Errno) {
                    // A set can be larger than the number of files that may be open.
                    try item.flushNow()
                    if group.environment.root.hasManyUnflushedFolders { try flushMadeFolders() }
                } catch {
                    unflushed = error
                    throw MirrorError(error)
                }
            } catch { throw failed(at, error) }
        }
    }

    /// Looks at each target as the rename will: what stands in the way is found while nothing has changed.
    private mutating func checkTargets() throws(MirrorError) {
        for (at, member) in set.landings.enumerated() {
            let target = member.landing.target
            do {
                let entry = try group.folders.cache.entry(target.path)
                try entry.mayChange()
                guard let there = try entry.status() else { continue }
                guard there.isFile else { throw PromotionFault.obstructed(target, there) }
                if member.landing.onConflict == .keep,
                    try !group.placement.isOurs(entry, there, landing: member.landing),
                    try !group.placement.isWanted(entry, there, member.landing.record)
                {
                    throw PromotionFault.kept(target)
                }
            } catch let error as Errno {
                throw failed(at, MirrorError(error, target: target))
            } catch PromotionFault.failed(let error) {
                throw failed(at, error)
            } catch let error as IndexError {
                throw failed(at, error.mirrorError)
            } catch {
                throw failed(at, MirrorError(.internalError, "\(target): \(error)"))
            }
        }
    }

    private mutating func checkRemovals() throws(MirrorError) {
        for departure in set.removals {
            let target = departure.removal.target
            do throws(MirrorError) {
                let entry = try group.removable(departure.removal)
                do throws(Errno) { try entry?.mayChange() } catch { throw MirrorError(error) }
            } catch {
                var error = error
                error.target = target
                throw error
            }
        }
    }

    /// Writes journal and intents in one transaction, durably: nothing else knows of the folder that is
    /// built next.
    private mutating func intend() throws(IndexError) {
        exchange = FolderExchange(
            set, root: group.environment.root, index: group.environment.index, now: group.now)
        journal.folder = exchange?.folder
        journal.aside = exchange?.aside
        let items = group.staged.compactMap(\.self)
        let draft = journal
        journal = try group.environment.index.write(durably: true) {
            (database: inout Database) throws(IndexError) in
            var journal = draft
            try BatchRows.intend(items, in: &database)
            if let first = items.first?.number, let last = items.last?.number, first <= last {
                journal.intents = first...last
            }
            journal.id = try JournalRows.put(journal, in: &database)
            return journal
        }
    }

    /// Builds the new folder; where that cannot be done, the files are renamed.
    private mutating func buildAside() throws(PromotionFault) {
        guard exchange != nil else { return }
        do {
            try exchange?.build(
                group.staged, placement: group.placement, folders: &group.folders.cache,
                groupDevice: group.groupDevice)
        } catch let fault as PromotionFault {
            throw fault
        } catch let error as Errno where !error.isObstacle {
            throw .failed(MirrorError(error))
        } catch {
            try exchange.giveUp(journal, in: &group)
        }
    }

    private mutating func commit() throws(PromotionFault) {
        let id = journal.id
        do throws(IndexError) {
            try group.environment.index.write(durably: true) {
                (database: inout Database) throws(IndexError) in
                try JournalRows.commit(id, in: &database)
            }
        } catch { throw PromotionFault(error) }
        journal.isCommitted = true
    }

    /// Flushes the folders of everything that must be there after the commit, where no group flush writes
    /// them out.
    private mutating func flushFolders() throws(PromotionFault) {
        var paths = Set(group.staged.compactMap { $0.map { PathText.folder(of: $0.path) } })
        if let exchange { paths.insert(PathText.folder(of: exchange.aside)) }
        do throws(Errno) {
            for path in paths.sorted() {
                let folder = try group.folders.cache.open(path)
                if folder.device != group.groupDevice {
                    try folder.descriptor.flush(path: path)
                }
            }
        } catch { throw .unflushed(error) }
    }

    /// What a group flush writes out waits for that of the bytes.
    private func flushMadeFolders() throws(Errno) {
        try group.environment.flush.flush(
            group.environment.root.takeUnflushedFolders(), besideGroup: group.groupDevice != nil)
    }

    /// Leaves everything as it was. Parts stay, so that the next run need not fetch them again.
    private mutating func undo(because error: MirrorError?) -> SetResult {
        exchange?.removeAside()
        exchange = nil
        for at in group.staged.indices { group.abandon(at, MirrorError(.internalError, "undone")) }
        if journal.id > 0 {
            let (id, staged) = (journal.id, group.staged)
            // If this fails, the next run undoes it.
            try? group.environment.index.write { (database: inout Database) throws(IndexError) in
                try BatchRows.forget(staged, except: [], in: &database)
                try JournalRows.remove(id, in: &database)
            }
        }
        var causes: [Int: MirrorError] = [:]
        guard let error else { return .left(causes) }
        for member in set.landings where member.landing.target == error.target {
            causes[member.position] = error
        }
        for departure in set.removals where departure.removal.target == error.target {
            if let position = departure.position { causes[position] = error }
        }
        return causes.isEmpty ? set.refused(error) : .left(causes)
    }
}

extension DirectoryEntry {
    /// Throws where the process may not change the entries of the folder (faccessat(2)).
    fileprivate func mayChange() throws(Errno) {
        try retryingLibc("faccessat", path) {
            faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS)
        }
    }
}

/// Hears of nothing.
private final class Silence: PromotionReceiver {
    static let receiver = Silence()

    func promoted(_ ends: [PromotionEnd]) {}
}
