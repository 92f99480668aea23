internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import Synchronization

/// The step and the run that have each target under way.
///
/// If two runs of a session want one target at the same time, it is transferred once. The second
/// run waits until the first one's step ends.
final class TargetClaims: Sendable {
    /// A step of a run.
    struct Claimant: Sendable, Hashable {
        let run: Int
        let position: Int
    }

    private struct Claim {
        let claimant: Claimant
        var waiters: [(position: Int, mailbox: Mailbox<RunMessage>)] = []

        mutating func belongs(to other: Claimant, orTells mailbox: Mailbox<RunMessage>) -> Bool {
            if claimant != other { waiters.append((other.position, mailbox)) }
            return claimant == other
        }

        func report(_ end: StepEnd) {
            for waiter in waiters {
                waiter.mailbox.post(.input(.joined(waiter.position, end)))
            }
        }
    }

    private struct State {
        var byTarget: [TargetKey: Claim] = [:]
        /// Targets that were claimed in addition to a step's own, because a server named them.
        var named: [Claimant: Target] = [:]

        /// Removes a claim; nil where another step has the target.
        mutating func end(_ target: TargetKey, by claimant: Claimant) -> Claim? {
            guard let claim = byTarget.removeValue(forKey: target) else { return nil }
            if claim.claimant == claimant { return claim }
            byTarget[target] = claim
            return nil
        }
    }

    private let state = Mutex(State())

    /// Claims a target for a step; false if another step has it.
    ///
    /// In that case the mailbox gets a message at the end of the other step.
    func claim(
        _ target: Target, by claimant: Claimant, waiting mailbox: Mailbox<RunMessage>
    ) -> Bool {
        let target = TargetKey(target)
        return state.withLock { state in
            state.byTarget[target, default: Claim(claimant: claimant)]
                .belongs(to: claimant, orTells: mailbox)
        }
    }

    /// Claims all of these targets, or none where another step has one; returns the claimants that
    /// would have them if they were free, by their positions.
    ///
    /// For each of those the mailbox gets a message at the end of the other step. Nobody keeps some
    /// targets while waiting for others in this way, so no two of them can wait for each other.
    func claim(
        _ targets: some Sequence<(target: Target, claimant: Claimant)>,
        waiting mailbox: Mailbox<RunMessage>
    ) -> [Int] {
        let targets = targets.map { (key: TargetKey($0.target), claimant: $0.claimant) }
        return state.withLock { state in
            let occupied = targets.filter { target in
                !(state.byTarget[target.key]?.belongs(
                    to: target.claimant, orTells: mailbox) ?? true)
            }
            if occupied.isEmpty {
                for (target, claimant) in targets where state.byTarget[target] == nil {
                    state.byTarget[target] = Claim(claimant: claimant)
                }
            }
            return occupied.map(\.claimant.position)
        }
    }

    /// Claims a target that a server named; throws `nameTaken` if it is not free.
    func reserve(
        _ target: Target, for provisional: Target, by claimant: Claimant, in root: RootDirectory
    ) throws(MirrorError) {
        if target == provisional { return }
        let key = TargetKey(target)
        let isFree = state.withLock { state in
            if let claim = state.byTarget[key] { return claim.claimant == claimant }
            state.byTarget[key] = Claim(claimant: claimant)
            state.named[claimant] = target
            return true
        }
        var scan = StatCursor(root)
        guard isFree, try scan.look(at: target) == .absent else {
            throw MirrorError(taken: target, for: provisional)
        }
    }

    /// Releases the claims of a step, and reports its end to the steps that wait for it.
    func release(_ target: Target, by claimant: Claimant, _ end: StepEnd) {
        let target = TargetKey(target)
        let (own, named) = state.withLock { state in
            let named = state.named.isEmpty ? nil : state.named.removeValue(forKey: claimant)
            return (
                state.end(target, by: claimant),
                named.flatMap { state.end(TargetKey($0), by: claimant) }
            )
        }
        own?.report(end)
        named?.report(end)
    }
}

extension MirrorError {
    /// The failure of a resource whose server chose a name that is not free.
    init(taken target: Target, for provisional: Target) {
        self.init(
            .nameTaken,
            "\(target): the server suggests this name for the resource in \(provisional.folder)/, and it is taken. Give the resource a path with a name.",
            target: provisional)
    }
}
