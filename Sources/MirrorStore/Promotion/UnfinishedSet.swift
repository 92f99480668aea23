package import MirrorModel

/// A set whose promotion a run had begun, and which cannot be finished now because something is in the
/// way.
///
/// Its journal stays, and each run tries again. Until then nothing that it is about may change: the
/// rest of the tree may.
package struct UnfinishedSet: Sendable, Hashable {
    /// Its manifests.
    package let owners: Owners
    /// What is in the way, where, and what to do.
    package let cause: MirrorError
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

    /// Whether a target is one of the set, or lies in its folder.
    package func contains(_ target: Target) -> Bool {
        if targets.contains(Array(target.path.utf8)) { return true }
        guard let folder else { return false }
        return target.path.utf8.starts(with: (folder + "/").utf8)
    }

    /// Whether a work would change what the set is about.
    func concerns(_ work: PromotionWork) -> Bool {
        switch work.task {
        case .land(let landing): concerns(landing)
        case .confirm(let confirmed): contains(confirmed.target)
        case .remove(let removal): contains(removal.target)
        case .landSet(let set):
            !Set(set.set.owners).isDisjoint(with: owners.names)
                || set.landings.contains { concerns($0.landing) }
                || set.removals.contains { contains($0.removal.target) }
        }
    }

    private func concerns(_ landing: Landing) -> Bool {
        if case .move(let source) = landing.content, contains(source) { return true }
        return contains(landing.target)
    }
}
