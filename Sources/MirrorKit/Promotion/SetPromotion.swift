internal import Glibc

/// The promotion of a set: all of its files change, or none.
///
/// The promotion prepares all files, then commits its journal. Before the commit, a failure leaves
/// the set as it was. After the commit, a step that fails stays in the journal, and the next run
/// performs it (`SetRecovery`). The steps are those of a `PromotionBatch`, with one more flush. If
/// the set has a folder to itself, one exchange of folders replaces all renames.
struct SetPromotion {
    private let set: SetContents
    private var batch: PromotionBatch
    /// The new folder. `nil` means that the files are renamed one by one.
    private var exchange: FolderExchange?
    private var journal: SetJournal
    /// The error of a failed flush of a staged file, which is final.
    private var unflushed: Errno?

    init(_ set: SetContents, in environment: PromotionEnvironment) {
        self.set = set
        // These works carry the promotions through the batch. No work reports a result of its own.
        let works = set.promotions.map {
            PromotionWork(
                task: .promote($0.promotion), number: $0.position, receiver: Silence.receiver)
        }
        batch = PromotionBatch(works, in: environment)
        journal = SetJournal(owners: Owners(set.set.owners))
        journal.removals = set.removals.map(\.removal.target.path)
    }

    /// Whether the journal is committed.
    var isCommitted: Bool { journal.isCommitted }

    /// Takes all steps, and returns the result.
    /// Throws an error that ends every later promotion too.
    mutating func carryOut() throws(PromotionError) -> SetResult {
        if let left = try prepare() { return left }
        return try putInPlace()
    }

    /// Prepares the set and commits its journal. Returns nil after the commit.
    /// If a step fails, the tree stays as it is, and the result has the reason.
    private mutating func prepare() throws(PromotionError) -> SetResult? {
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
        do throws(IndexError) { try intend() } catch {
            let result = undo(because: error.mirrorError(in: batch.environment.index.place))
            if case .unflushed(let error) = error { throw .unflushed(error) }
            return result
        }
        try batch.reached(.intended)
        do throws(PromotionError) {
            try buildAside()
            try batch.reached(.builtAside)
            try batch.flush(.bytes)
            try flushFolders()
            try batch.reached(.flushedBytes)
        } catch {
            // A stop by a test must leave everything as a crash would.
            if case .stopped = error { throw error }
            _ = undo(because: nil)
            throw error
        }
        do throws(PromotionError) { try commit() } catch {
            // After a failed flush it is unknown whether the commit reached the disk. The next run
            // finds out.
            if case .unflushed = error { throw error }
            _ = undo(because: nil)
            throw error
        }
        return nil
    }

    /// Returns an error with the target of the member that failed. `undo` finds the member by it.
    private func failed(_ at: Int, _ error: MirrorError) -> MirrorError {
        var error = error
        error.target = set.promotions[at].promotion.target
        return error
    }

    private mutating func stage() throws(MirrorError) {
        var staging = Staging(
            index: batch.environment.index, groupDevice: batch.groupDevice,
            unnamed: batch.environment.unnamed)
        // A file without a name would have to stay open until the end of the set.
        staging.makesUnnamed = false
        for (at, member) in set.promotions.enumerated() {
            do throws(MirrorError) {
                let item = try batch.stage(member.promotion, at: at, by: &staging)
                do throws(Errno) {
                    // Flushed and closed now, because a set can be larger than the number of files
                    // that may be open.
                    try item.flushNow()
                    if batch.environment.root.hasManyUnflushedFolders { try flushMadeFolders() }
                } catch {
                    unflushed = error
                    throw MirrorError(error)
                }
            } catch { throw failed(at, error) }
        }
    }

    /// Checks each target as the rename will, to find every obstacle before anything has changed.
    private mutating func checkTargets() throws(MirrorError) {
        for (at, member) in set.promotions.enumerated() {
            let target = member.promotion.target
            do {
                let entry = try batch.folders.cache.entry(target.path)
                try entry.mayChange()
                guard let there = try entry.status() else { continue }
                guard there.isFile else { throw PromotionError.obstructed(target, there) }
                if member.promotion.onConflict == .keep,
                    try !batch.placement.isOurs(entry, there, promotion: member.promotion),
                    try !batch.placement.isWanted(entry, there, member.promotion.record)
                {
                    throw PromotionError.kept(target)
                }
            } catch let error as Errno {
                throw failed(at, MirrorError(error, target: target))
            } catch PromotionError.failed(let error) {
                throw failed(at, error)
            } catch let error as IndexError {
                throw failed(at, error.mirrorError(in: batch.environment.index.place))
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

    /// Writes the journal and the intents in one durable transaction.
    /// Only the journal knows of the folder that is built next.
    private mutating func intend() throws(IndexError) {
        if let folder = set.set.folder, let target = try? Target(folder) {
            (journal.folder, journal.aside) = (folder, TreePartStore.passingPath(for: target))
        }
        let items = batch.staged.compactMap(\.self)
        let draft = journal
        journal = try batch.environment.index.write(durably: true) {
            (database: inout Database) throws(IndexError) in
            var journal = draft
            try BatchRows.intend(items, in: &database)
            if let first = items.first?.number, let last = items.last?.number, first <= last {
                journal.intents = first...last
            }
            journal.id = try database.put(journal)
            return journal
        }
    }

    /// Builds the new folder. If that is impossible, the files are renamed one by one later.
    private mutating func buildAside() throws(PromotionError) {
        guard let folder = journal.folder, let aside = journal.aside else { return }
        var exchange = FolderExchange(
            folder: folder, aside: aside, intents: batch.staged.compactMap { $0?.intent },
            root: batch.environment.root, placement: batch.placement)
        do {
            try exchange.build(
                owners: set.set.owners, removals: journal.removals, &batch.folders.cache,
                groupDevice: batch.groupDevice)
            self.exchange = exchange
        } catch {
            // If the new folder cannot be removed here, the recovery removes it.
            try? FolderExchange.remove(aside, in: batch.environment.root)
            batch.folders.cache.drop()
            if let fault = error as? PromotionError { throw fault }
            if let error = error as? Errno, !error.isInTheWay { throw .failed(MirrorError(error)) }
        }
    }

    private mutating func commit() throws(PromotionError) {
        let (id, isExchanged) = (journal.id, exchange != nil)
        do throws(IndexError) {
            try batch.environment.index.write(durably: true) {
                (database: inout Database) throws(IndexError) in
                if !isExchanged {
                    try database.renameInsteadOfExchange(ofSet: id)
                }
                try database.commitJournal(id)
            }
        } catch { throw PromotionError(error, with: batch.environment.index) }
        journal.isCommitted = true
    }

    /// Flushes the folders of the staged files and of the new folder.
    /// A group flush writes out the folders on its own file system.
    private mutating func flushFolders() throws(PromotionError) {
        var paths = Set(batch.staged.compactMap { $0.map { PathText.folder(of: $0.path) } })
        if let exchange { paths.insert(PathText.folder(of: exchange.aside)) }
        do throws(Errno) {
            for path in paths.sorted() {
                let folder = try batch.folders.cache.open(path)
                if folder.device != batch.groupDevice {
                    try folder.descriptor.flush(path: path)
                }
            }
        } catch { throw .unflushed(error) }
    }

    /// Flushes the parents of new folders. Those of a group flush wait until the bytes are flushed.
    private func flushMadeFolders() throws(Errno) {
        try batch.environment.flush.flush(
            batch.environment.root.takeUnflushedFolders(), besideGroup: batch.groupDevice != nil)
    }

    /// Undoes all preparations. Returns the result with the reason.
    /// Parts stay, so that the next run need not fetch them again.
    private mutating func undo(because error: MirrorError?) -> SetResult {
        if let exchange {
            try? FolderExchange.remove(exchange.aside, in: batch.environment.root)
        }
        for at in batch.staged.indices { batch.abandon(at, MirrorError(.internalError, "undone")) }
        if journal.id > 0 {
            let (id, staged) = (journal.id, batch.staged)
            // If this write fails, the next run undoes the set.
            try? batch.environment.index.write { (database: inout Database) throws(IndexError) in
                try BatchRows.forget(staged, except: [], in: &database)
                try database.removeJournal(id)
            }
        }
        var causes: [Int: MirrorError] = [:]
        guard let error else { return .left(causes) }
        for member in set.promotions where member.promotion.target == error.target {
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
    /// Gives all files their final names, removes the orphans, and records the rows.
    private mutating func putInPlace() throws(PromotionError) -> SetResult {
        try batch.reached(.committed)
        let isExchanged = try exchangeFolder()
        if !isExchanged { try rename() }
        try batch.reached(.placed)
        try batch.flush(.names)
        try batch.reached(.flushedNames)
        let stayed = try remove()
        if !set.removals.isEmpty { try batch.flush(.names) }
        let kept = try settleOldFolder()
        if isExchanged { notePlaced() }
        batch.cleanUp()
        var rows = SetRows(journal: journal.id)
        rows.removed = set.removals.filter { departure in
            departure.position.map { stayed[$0] == nil } ?? true
        }.map(\.removal.target)
        restamp(&rows)
        for departure in set.removals {
            batch.folders.removeEmpty(above: departure.removal.target)
        }
        try batch.reached(.cleaned)
        try batch.record(setRows: rows)
        try batch.reached(.indexed)
        var promoted: [Int: PromotionResult] = [:]
        for (at, member) in set.promotions.enumerated() {
            guard let placed = batch.staged[at]?.placed else { continue }
            promoted[member.position] = .promoted(
                member.promotion, placed.stamp, conflict: placed.conflict)
        }
        return .promoted(
            .init(
                files: promoted, stayed: stayed, way: isExchanged ? .exchange : .rename,
                kept: kept))
    }

    /// Gives each file its final name.
    private mutating func rename() throws(PromotionError) {
        let placement = batch.placement
        for case let item? in batch.staged {
            let target = item.promotion.target
            do {
                // The folder may have been removed since the commit.
                _ = try batch.folders.cache.make(target.folder)
                try batch.place(item, placement)
            } catch { throw PromotionError(error, at: target, with: batch.environment.index) }
        }
    }

    /// Puts the new folder in place of the old one.
    /// Returns false if no new folder was built, or if the folders cannot be exchanged.
    private mutating func exchangeFolder() throws(PromotionError) -> Bool {
        guard let exchange, batch.environment.probe.allowsExchange else { return false }
        do throws(Errno) { try exchange.exchange(&batch.folders.cache) } catch {
            // The new folder stays. The next run exchanges it when the old name leads to a folder
            // again.
            if [ENOTDIR, ELOOP].contains(error.number) { throw .failed(MirrorError(error)) }
            return false
        }
        try batch.reached(.exchangedFolder)
        batch.folders.touch(PathText.folder(of: exchange.folder))
        batch.folders.touch(Area.tmp.rawValue)
        return true
    }

    /// Removes the orphans, except edited ones.
    /// Returns the errors of the edited ones, by the positions of their steps.
    private mutating func remove() throws(PromotionError) -> [Int: MirrorError] {
        var stayed: [Int: MirrorError] = [:]
        for departure in set.removals {
            do throws(MirrorError) { try batch.remove(departure.removal) } catch {
                guard error.code == .conflict else { throw .failed(error) }
                if let position = departure.position { stayed[position] = error }
            }
        }
        return stayed
    }

    /// Removes the folder of the exchange from `tmp/`.
    /// Returns the paths of other programs' files that could not get their names back.
    private mutating func settleOldFolder() throws(PromotionError) -> [String] {
        guard let exchange else { return [] }
        let foreign: FolderExchange.Foreign
        do { foreign = try exchange.settle() } catch {
            throw PromotionError(error, with: batch.environment.index)
        }
        batch.folders.cache.drop()
        for path in foreign.touched { batch.folders.touch(path) }
        if !foreign.touched.isEmpty { try batch.flush(.names) }
        return foreign.kept
    }

    /// Marks the files that an exchange put in place as placed.
    private func notePlaced() {
        for case let item? in batch.staged {
            item.placed = Placed(stamp: item.stamp, leftover: item.path)
        }
    }

    /// Reads the stamps of the files in the folder again.
    /// A file's ctime changes when the file loses a link.
    private mutating func restamp(_ rows: inout SetRows) {
        guard let exchange else { return }
        for case let item? in batch.staged {
            let path = item.promotion.target.path
            if let status = try? batch.folders.cache.entry(path).status() {
                item.placed?.stamp = item.recordedStamp(of: status.stamp)
            }
        }
        rows.restamped = exchange.stamps(&batch.folders.cache)
    }
}

extension DirectoryEntry {
    /// Throws if the process may not change the entries of the folder (faccessat(2)).
    fileprivate func mayChange() throws(Errno) {
        try retryingLibc("faccessat", path) {
            faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS)
        }
    }
}

/// A receiver that ignores all results.
private final class Silence: PromotionReceiver {
    static let receiver = Silence()

    func promoted(_ works: [PromotionWork], _ results: [RunInput]) {}
}
