internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The promotion of a set: everything is prepared, then the journal is committed, then it is carried out.
///
/// Whatever can fail is tried before the commit: until then the set can be left as it was. From the
/// commit on, this run or the next carries the journal out. The steps are those of `PromotionBatch`,
/// with one more flush; where the set has a folder to itself, one exchange stands for all renames.
struct SetPromotion {
    private let set: SetLanding
    private let placement: Placement
    private var batch: PromotionBatch
    private var journal: SetJournal
    private var exchange: FolderExchange?
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
            try batch.flushBytes()
            try flushMadeFolders()
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
            root: batch.root, index: batch.index,
            groupDevice: batch.isGroup ? batch.flush.device : nil, unnamed: batch.unnamed)
        // A file without a name would have to stay open until the end.
        staging.unnamedLeft = 0
        for (at, member) in set.landings.enumerated() {
            do throws(MirrorError) {
                let item = try staging.stage(member.landing, folders: &batch.folders)
                batch.staged[at] = item
                do throws(Errno) {
                    if !batch.isGroup { try item.flushNow() }
                    if at % 64 == 63 { try dropMadeFolders() }
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
            do throws(MirrorError) { _ = try batch.removable(departure.removal) } catch {
                var error = error
                error.target = departure.removal.target
                throw error
            }
        }
    }

    /// Writes journal and intents in one transaction.
    private mutating func intend() throws(IndexError) {
        exchange = FolderExchange(set, root: batch.root, index: batch.index, now: batch.now)
        journal.folder = exchange?.folder
        journal.aside = exchange?.aside
        let items = batch.staged.sorted { $0.key < $1.key }.map(\.value)
        let draft = journal
        journal = try batch.index.write { (database: inout Database) throws(IndexError) in
            var journal = draft
            for item in items { item.number = try database.put(item.intent) }
            if let first = items.first?.number, let last = items.last?.number, first <= last {
                journal.intents = first...last
            }
            journal.id = try database.put(journal)
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
        } catch { try renameInstead() }
    }

    private mutating func renameInstead() throws(PromotionFault) {
        guard let built = exchange else { return }
        exchange = nil
        let id = journal.id
        do throws(IndexError) {
            try batch.index.write { (database: inout Database) throws(IndexError) in
                try database.renameInsteadOfExchange(ofSet: id)
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
                try database.commitSet(id)
            }
        } catch { throw .failed(error.mirrorError) }
        do throws(Errno) { try batch.index.makeDurable() } catch { throw .unflushed(error) }
        journal.isCommitted = true
    }

    /// Leaves everything as it was. Parts stay, so that the next run need not fetch them again.
    private mutating func undo(because error: MirrorError?) -> SetResult {
        exchange?.removeAside()
        exchange = nil
        for at in batch.staged.keys { batch.abandon(at, MirrorError(.internalError, "undone")) }
        let (id, numbers) = (journal.id, batch.staged.values.map(\.number).filter { $0 > 0 })
        if id > 0 {
            // If this fails, the next run undoes it.
            try? batch.index.write { (database: inout Database) throws(IndexError) in
                try database.removeIntents(numbers)
                try database.removeSet(id)
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

// MARK: After the commit

extension SetPromotion {
    private mutating func carryOut() throws(PromotionFault) -> SetResult {
        if exchange != nil, try !exchangeFolder() { try renameInstead() }
        if exchange == nil { try batch.place() }
        try batch.reached(.placed)
        try batch.flushNames()
        try batch.reached(.flushedNames)
        let stayed = remove()
        if !set.removals.isEmpty { try batch.flushNames() }
        var rows = SetRows(journal: journal.id)
        rows.removed = set.removals.filter { departure in
            departure.position.map { stayed[$0] == nil } ?? true
        }.map(\.removal.target)
        try settleOldFolder()
        batch.cleanUp()
        restamp(&rows)
        for departure in set.removals {
            batch.removeEmptyFolders(above: departure.removal.target)
        }
        try batch.reached(.cleaned)
        batch.setRows = rows
        try batch.record()
        try batch.reached(.indexed)
        return result(stayed)
    }

    /// Puts the new folder in the place of the old one; false where they cannot be exchanged.
    private mutating func exchangeFolder() throws(PromotionFault) -> Bool {
        guard let exchange, batch.probe.allowsExchange else { return false }
        do throws(Errno) { try exchange.perform(&batch.folders) } catch { return false }
        batch.folders.drop()
        try batch.reached(.exchangedFolder)
        batch.touch(PathText.folder(of: exchange.folder))
        batch.touch(Area.tmp.rawValue)
        for at in batch.staged.keys.sorted() {
            guard let item = batch.staged[at] else { continue }
            let target = item.landing.target
            do {
                guard let status = try batch.folders.entry(target.path).status() else {
                    throw Errno(number: ENOENT, call: "statx", path: target.path)
                }
                batch.placed[at] = Placed(
                    stamp: status.stamp, conflict: exchange.conflicts[at],
                    leftover: item.intent.staged)
            } catch {
                let cause = (error as? Errno).map { MirrorError($0, target: target) }
                batch.failures[at] =
                    cause ?? MirrorError(.internalError, "\(target): \(error)", target: target)
                batch.unsettled.insert(at)
            }
        }
        return true
    }

    /// Removes the orphans; gives back what did not go, by the positions of their steps.
    private mutating func remove() -> [Int: MirrorError] {
        var stayed: [Int: MirrorError] = [:]
        for departure in set.removals {
            do throws(MirrorError) { try batch.remove(departure.removal) } catch {
                if let position = departure.position { stayed[position] = error }
            }
        }
        return stayed
    }

    /// Removes what the exchange brought out, and gives other people's files their names again.
    private mutating func settleOldFolder() throws(PromotionFault) {
        guard let path = exchange?.aside else { return }
        do {
            try exchange?.settle()
        } catch let fault as PromotionFault {
            throw fault
        } catch {
            throw .failed(
                (error as? Errno).map { MirrorError($0) }
                    ?? MirrorError(.internalError, "\(path): \(error)"))
        }
        batch.folders.drop()
    }

    /// Takes the stamps of what the new folder holds: a name less changes a file's ctime.
    private mutating func restamp(_ rows: inout SetRows) {
        guard let exchange else { return }
        for (at, placed) in batch.placed {
            let path = set.landings[at].landing.target.path
            guard let status = try? batch.folders.entry(path).status() else { continue }
            batch.placed[at] = Placed(
                stamp: status.stamp, conflict: exchange.conflicts[at] ?? placed.conflict)
        }
        rows.restamped = exchange.stamps(&batch.folders)
    }

    private func result(_ stayed: [Int: MirrorError]) -> SetResult {
        var landed: [Int: LandingResult] = [:]
        for (at, member) in set.landings.enumerated() {
            if let placed = batch.placed[at], batch.failures[at] == nil {
                var record = member.landing.record
                record.stamp = placed.stamp
                landed[member.position] = .landed(record, conflict: placed.conflict)
            } else {
                let unknown = MirrorError(.internalError, "\(member.landing.target): not promoted.")
                landed[member.position] = .failed(batch.failures[at] ?? unknown)
            }
        }
        return .promoted(landed, stayed: stayed, way: exchange == nil ? .rename : .exchange)
    }

    /// Flushes folders that were made, where no group flush writes them out.
    private func flushMadeFolders() throws(PromotionFault) {
        do throws(Errno) { try dropMadeFolders() } catch { throw .unflushed(error) }
    }

    private func dropMadeFolders() throws(Errno) {
        for folder in batch.root.takeUnflushedFolders() {
            try folder.flush(path: batch.root.path)
        }
    }
}

/// Hears of nothing.
private final class Silence: PromotionReceiver {
    static let receiver = Silence()

    func promoted(_ ends: [PromotionEnd]) {}
}
