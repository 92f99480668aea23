internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The promotion of a set: everything is prepared, then the journal is committed, then it is carried out.
///
/// Whatever can fail is tried before the commit: until then the set can be left as it was. From the
/// commit on, this run or the next carries the journal out. The steps are those of `PromotionBatch`,
/// with one more flush; where the set has a folder to itself, one exchange stands for all renames.
struct SetPromotion {
    let set: SetLanding
    let placement: Placement
    var batch: PromotionBatch
    var exchange: FolderExchange?
    private(set) var journal: SetJournal
    /// A flush of a staged file that failed, which is final.
    private var unflushed: Errno?

    /// Whether the journal was committed, so that the set cannot be left as it was any more.
    var isCommitted: Bool { journal.isCommitted }

    init(
        _ set: SetLanding, root: RootDirectory, index: Index, flush: DurableFlush, now: Instant,
        probe: PromotionProbe, unnamed: UnnamedFiles
    ) {
        self.set = set
        // The works carry the landings through the batch; nobody is told one by one.
        let works = set.landings.map {
            PromotionWork(task: .land($0.landing), number: $0.position, receiver: Silence.receiver)
        }
        batch = PromotionBatch(
            works, root: root, index: index, flush: flush, now: now, probe: probe, unnamed: unnamed)
        placement = Placement(index: index, now: now, probe: probe)
        journal = SetJournal(owners: Owners(set.set.owners))
        journal.removals = set.removals.map(\.removal.target.path)
    }

    /// Promotes the set, or leaves the tree as it was. Throws what ends every later promotion too.
    mutating func run() throws(PromotionFault) -> SetResult {
        do throws(MirrorError) {
            try stage()
            try checkTargets()
            try checkRemovals()
        } catch {
            let result = undo(because: error)
            if let unflushed { throw .unflushed(unflushed) }
            return result
        }
        try batch.reached(.staged)
        do throws(IndexError) { try intend() } catch { return undo(because: error.mirrorError) }
        try batch.reached(.intended)
        do throws(PromotionFault) {
            try buildAside()
            try batch.reached(.builtAside)
            try batch.flush(.bytes)
            try flushFolders()
            try batch.reached(.flushedBytes)
            try commit()
        } catch {
            // What a test stops is left as a crash would leave it.
            if case .stopped = error { throw error }
            _ = undo(because: nil)
            throw error
        }
        try batch.reached(.committed)
        return try carryOut()
    }
}

// MARK: Before the commit

extension SetPromotion {
    /// The position of the member that failed, for `undo`.
    private func failed(_ at: Int, _ error: MirrorError) -> MirrorError {
        var error = error
        error.target = set.landings[at].landing.target
        return error
    }

    private mutating func stage() throws(MirrorError) {
        var staging = Staging(
            index: batch.index, groupDevice: batch.isGroup ? batch.flush.device : nil,
            unnamed: batch.unnamed)
        // A file without a name would have to stay open until the end.
        staging.makesUnnamed = false
        for (at, member) in set.landings.enumerated() {
            do throws(MirrorError) {
                let item = try staging.stage(member.landing, folders: &batch.folders)
                batch.staged[at] = item
                do throws(Errno) {
                    // A set can be larger than the number of files that may be open.
                    try item.flushNow()
                    if batch.root.hasManyUnflushedFolders { try flushMadeFolders() }
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
                let entry = try batch.folders.entry(target.path)
                try entry.mayChange()
                guard let there = try entry.status() else { continue }
                guard there.isFile else { throw PromotionFault.obstructed(target, there) }
                if member.landing.onConflict == .keep,
                    try !placement.isOurs(entry, there, landing: member.landing),
                    try !placement.isWanted(entry, there, member.landing.record)
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
                let entry = try batch.removable(departure.removal)
                do throws(Errno) { try entry?.mayChange() } catch { throw MirrorError(error) }
            } catch {
                var error = error
                error.target = target
                throw error
            }
        }
    }

    /// Writes journal and intents in one transaction.
    private mutating func intend() throws(IndexError) {
        exchange = FolderExchange(
            set, root: batch.root, index: batch.index, now: batch.now, probe: batch.probe)
        journal.folder = exchange?.folder
        journal.aside = exchange?.aside
        let items = batch.staged.compactMap(\.self)
        let draft = journal
        journal = try batch.index.write { (database: inout Database) throws(IndexError) in
            var journal = draft
            for item in items { item.number = try IntentRows.put(item.intent, in: &database) }
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
        // The journal must last before the folder does: nothing else knows of it.
        do throws(Errno) { try batch.index.makeDurable() } catch { throw .unflushed(error) }
        do {
            try exchange?.build(
                batch.staged, placement: placement, folders: &batch.folders,
                groupDevice: batch.isGroup ? batch.flush.device : nil)
        } catch let fault as PromotionFault {
            throw fault
        } catch let error as Errno where !error.isObstacle {
            throw .failed(MirrorError(error))
        } catch { try renameInstead() }
    }

    mutating func renameInstead() throws(PromotionFault) {
        guard let built = exchange else { return }
        exchange = nil
        let id = journal.id
        do throws(IndexError) {
            try batch.index.write { (database: inout Database) throws(IndexError) in
                try JournalRows.renameInsteadOfExchange(ofSet: id, in: &database)
            }
        } catch { throw .failed(error.mirrorError) }
        if journal.isCommitted {
            do throws(Errno) { try batch.index.makeDurable() } catch { throw .unflushed(error) }
        }
        built.removeAside()
        batch.folders.drop()
    }

    private mutating func commit() throws(PromotionFault) {
        let id = journal.id
        do throws(IndexError) {
            try batch.index.write { (database: inout Database) throws(IndexError) in
                try JournalRows.commit(id, in: &database)
            }
        } catch { throw .failed(error.mirrorError) }
        do throws(Errno) { try batch.index.makeDurable() } catch { throw .unflushed(error) }
        journal.isCommitted = true
    }

    /// Flushes the folders of everything that must be there after the commit, where no group flush writes
    /// them out.
    private mutating func flushFolders() throws(PromotionFault) {
        var paths = Set(batch.staged.compactMap { $0.map { PathText.folder(of: $0.path) } })
        if let exchange { paths.insert(PathText.folder(of: exchange.aside)) }
        do throws(Errno) {
            for path in paths.sorted() {
                let folder = try batch.folders.open(path)
                if !batch.isGroup || folder.device != batch.flush.device {
                    try folder.descriptor.flush(path: path)
                }
            }
        } catch { throw .unflushed(error) }
    }

    /// What a group flush writes out waits for that of the bytes.
    private func flushMadeFolders() throws(Errno) {
        try batch.flush.flush(batch.root.takeUnflushedFolders(), besideGroup: batch.isGroup)
    }

    /// Leaves everything as it was. Parts stay, so that the next run need not fetch them again.
    private mutating func undo(because error: MirrorError?) -> SetResult {
        exchange?.removeAside()
        exchange = nil
        for at in batch.staged.indices { batch.abandon(at, MirrorError(.internalError, "undone")) }
        let (id, numbers) = (journal.id, batch.staged.compactMap { $0?.number }.filter { $0 > 0 })
        if id > 0 {
            // If this fails, the next run undoes it.
            try? batch.index.write { (database: inout Database) throws(IndexError) in
                try IntentRows.remove(numbers, in: &database)
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
