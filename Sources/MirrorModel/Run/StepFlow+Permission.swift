// Transfers that may not run now: hours, a metered network, a budget.

extension StepFlow {
    /// Takes in whether resources that are not urgent may be fetched.
    ///
    /// Where they may not any more, transfers under way end and keep their parts. What was deferred
    /// stays so in this run.
    mutating func permit(_ deferral: Deferral?) {
        self.deferral = deferral
        guard let deferral else { return }
        let positions = window.running.filter(mustWait)
        withdrawn.formUnion(positions)
        if !positions.isEmpty { act(.cancel(positions.sorted(), discardingParts: false)) }
        for position in window.takeHeld(where: mustWait) {
            window.ended(position)
            settle(deferral, position)
        }
    }

    /// Whether a transfer may not begin now, for itself or for those that share its request.
    func mustWait(_ position: Int) -> Bool {
        guard deferral != nil else { return false }
        let sharing = [position] + (sharing.followers[position] ?? [])
        return !sharing.contains { plan.resource(of: plan.steps[$0])?.isUrgent == true }
    }

    /// Ends transfers that have not begun.
    mutating func postpone(_ positions: [Int]) {
        guard let deferral, !positions.isEmpty else { return }
        for position in positions { window.ended(position) }
        begin(positions) { _ in .deferred(deferral) }
    }

    /// Ends a step, and those that wait for its request, as deferred.
    mutating func settle(
        _ deferral: Deferral, _ position: Int, _ cost: TransferCost = TransferCost()
    ) {
        guard let work = works[position] else { return }
        var done = Event.Done(
            target: work.step.target, step: work.step.kind, outcome: .deferred,
            reason: .deferred(deferral), verified: work.row?.verified ?? .none)
        done.bytesReceived = cost.bytesReceived
        done.bytesReused = cost.bytesReused
        finish(position, done)
        begin(sharing.followers[position] ?? []) { _ in .deferred(deferral) }
    }
}
