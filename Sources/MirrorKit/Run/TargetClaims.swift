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
    }

    private struct State {
        var byTarget: [Target: Claim] = [:]
        /// Targets that were claimed in addition to a step's own, because a server named them.
        var named: [Claimant: Target] = [:]
    }

    private let state = Mutex(State())

    /// Claims a target for a step; false if another step has it.
    ///
    /// In that case the mailbox gets a message at the end of the other step.
    func claim(
        _ target: Target, by claimant: Claimant, waiting mailbox: Mailbox<RunMessage>
    ) -> Bool {
        state.withLock { state in
            guard let claim = state.byTarget[target] else {
                state.byTarget[target] = Claim(claimant: claimant)
                return true
            }
            if claim.claimant == claimant { return true }
            state.byTarget[target]?.waiters.append((claimant.position, mailbox))
            return false
        }
    }

    /// Claims a target that a server named; throws `nameTaken` if it is not free.
    func reserve(
        _ target: Target, for provisional: Target, by claimant: Claimant, in root: RootDirectory
    ) throws(MirrorError) {
        if target == provisional { return }
        let isFree = state.withLock { state in
            if let claim = state.byTarget[target] { return claim.claimant == claimant }
            state.byTarget[target] = Claim(claimant: claimant)
            state.named[claimant] = target
            return true
        }
        var scan = StatCursor(root)
        guard isFree, try scan.look(at: target) == .absent else {
            throw MirrorError(
                .nameTaken,
                "\(target): the server suggests this name for the resource in \(provisional.folder)/, and it is taken. Give the resource a path with a name.",
                target: provisional)
        }
    }

    /// Releases the claims of a step, and reports its end to the steps that wait for it.
    func release(_ target: Target, by claimant: Claimant, _ end: StepEnd) {
        let waiters = state.withLock { state in
            [target, state.named.removeValue(forKey: claimant)].flatMap { target in
                guard let target, state.byTarget[target]?.claimant == claimant else {
                    return [(position: Int, mailbox: Mailbox<RunMessage>)]()
                }
                return state.byTarget.removeValue(forKey: target)?.waiters ?? []
            }
        }
        for waiter in waiters { waiter.mailbox.post(.input(.joined(waiter.position, end))) }
    }
}
