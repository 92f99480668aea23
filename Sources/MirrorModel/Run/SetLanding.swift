/// Everything that one set promotes: files that get their final names, and orphans that go after them.
///
/// The promotion carries all of it out under one journal, or leaves the tree as it is.
package final class SetLanding: Sendable {
    /// The set's number in the plan.
    package let number: Int
    /// The set.
    package let set: AtomicSets.Entry
    /// The files, each with the position of its step, in the order of their targets.
    package let landings: [Member]
    /// The orphans, each with the position of its step.
    package let removals: [Departure]

    /// A file of the set.
    package struct Member: Sendable {
        package let position: Int
        package let landing: Landing

        package init(_ position: Int, _ landing: Landing) {
            self.position = position
            self.landing = landing
        }
    }

    /// A file that leaves with the old set.
    package struct Departure: Sendable {
        /// Its step; nil for an orphan whose bytes another step of the set took over.
        package let position: Int?
        package let removal: Removal

        package init(_ position: Int?, _ removal: Removal) {
            self.position = position
            self.removal = removal
        }
    }

    package init(
        number: Int, set: AtomicSets.Entry, landings: [Member], removals: [Departure]
    ) {
        self.number = number
        self.set = set
        self.landings = landings
        self.removals = removals
    }

    /// The files that it replaces or removes: nobody may read one meanwhile.
    package var targets: [Target] {
        landings.map(\.landing.target) + removals.map(\.removal.target)
    }

    /// How often a set waits for a file that is read before it is left to the next run: where some file
    /// is always read, it would wait for ever.
    package static let mostAttempts = 1000

    /// The result of a promotion that one file kept from beginning, the error's target.
    package func left(because error: MirrorError) -> SetResult {
        let position =
            landings.first { $0.landing.target == error.target }?.position
            ?? removals.first { $0.removal.target == error.target }?.position
        return position.map { .left([$0: error]) } ?? refused(error)
    }

    /// The result of a promotion that was refused before it began.
    package func refused(_ error: MirrorError) -> SetResult {
        let positions = landings.map(\.position) + removals.compactMap(\.position)
        return .left(Dictionary(uniqueKeysWithValues: positions.map { ($0, error) }))
    }
}

/// How the promotion of a set ended.
package indirect enum SetResult: Sendable {
    /// The tree is as it was, because of these steps.
    case left([Int: MirrorError])
    /// The promotion began, and this stopped it: the next run carries the journal out.
    case unfinished(MirrorError)
    /// The journal was carried out: how each file landed, and which orphans stayed.
    case promoted(Promoted)

    /// What became of the steps of a set that was promoted.
    package struct Promoted: Sendable {
        /// How each file landed.
        package var landed: [Int: LandingResult]
        /// Which orphans stayed, and why.
        package var stayed: [Int: MirrorError]
        package var way: Event.SetEnd.Way
        /// Where other people's files are that were changed meanwhile and did not get their names back.
        package var kept: [String]

        package init(
            landed: [Int: LandingResult], stayed: [Int: MirrorError] = [:],
            way: Event.SetEnd.Way, kept: [String] = []
        ) {
            self.landed = landed
            self.stayed = stayed
            self.way = way
            self.kept = kept
        }
    }
}
