package import MirrorModel
internal import MirrorSystem

/// Settles what a run left that was killed, or whose machine lost power.
///
/// Each intent says which names a promotion was about to use, and each journal which set was about to
/// be put in place together. The index forgets them once what they lead to is on the disk. After a power
/// cut meanwhile, the next run settles them again.
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

    private let tree: RecoveryTree
    private let index: Index
    private let now: Instant
    private let probe: PromotionProbe
    private var settled = Settled()

    private init(tree: RecoveryTree, index: Index, now: Instant, probe: PromotionProbe) {
        self.tree = tree
        self.index = index
        self.now = now
        self.probe = probe
    }

    /// Settles everything; the caller holds the root's lock and nothing else is under way.
    package static func settle(
        _ root: RootDirectory, _ index: Index, now: Instant,
        probe: PromotionProbe = PromotionProbe()
    ) throws(MirrorError) -> Settled {
        var recovery = Recovery(tree: RecoveryTree(root), index: index, now: now, probe: probe)
        do {
            try recovery.settlePromotions()
            try recovery.settleLeftovers()
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

    private mutating func settlePromotions() throws {
        let (intents, journals) = try index.read { (database: inout Database) throws(IndexError) in
            (try IntentRows.intents(in: &database), try JournalRows.journals(in: &database))
        }
        guard !intents.isEmpty || !journals.isEmpty else { return }
        var open: [SetRecovery] = []
        for journal in journals {
            let set = SetRecovery(
                journal: journal, intents: intents.filter(journal.contains), tree: tree,
                index: index, now: now, probe: probe)
            if try set.carryOn(&settled) { open.append(set) }
        }
        // The new names last before what they replace is removed.
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
            for target in gone { try FileRows.remove(target, in: &batch) }
            for journal in ended { try JournalRows.remove(journal, in: &batch) }
        }
    }

    private mutating func settleLeftovers() throws {
        let leftovers = Leftovers(tree: tree, index: index, now: now)
        try leftovers.removeHiddenFiles(besides: settled.promised)
        settled.removedRows += try leftovers.settleParts(besides: settled.promised)
        settled.removedFiles = tree.removedFiles
    }
}
