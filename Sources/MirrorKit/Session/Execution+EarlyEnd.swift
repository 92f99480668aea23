internal import MirrorModel
internal import Synchronization

/// What becomes of steps that end only because the run does: those that had begun are interrupted, the
/// others skipped. Both are counted and have no event each.
extension Execution {
    /// Notes that work on a step has begun.
    func noteBegun(_ position: Int) {
        state.withLock { $0.begun.insert(CollectionOfOne(position)) }
    }

    /// Ends a step that ends only because the run does: it is counted, and has no event.
    func breakOff(_ position: Int) {
        state.withLock { $0.enterUnfinished(position) }
        leaveOut(sharing.followers[position] ?? [])
        close(position)
        release(position, .abandoned, isPassedOn: false)
    }

    /// How much of each interrupted transfer a later run can go on from; what cannot be read keeps
    /// nothing that could be promised.
    func partsOfInterrupted() -> [Int64] {
        let positions = state.withLock { $0.interrupted }
        return positions.map { position in
            let parts = try? engine.index.parts(for: plan.steps.target(at: position))
            return parts?.map(\.resumableBytes).max() ?? 0
        }
    }
}

extension Execution.Ending {
    /// How long what is under way is waited for; nil is to its end.
    var grace: Duration? {
        switch self {
        case .interrupted: .milliseconds(400)
        case .error(let error) where error.code == .deadline: .seconds(1)
        case .error, .firstFailure: nil
        }
    }
}
