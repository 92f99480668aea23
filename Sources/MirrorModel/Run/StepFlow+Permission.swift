// Transfers that may not run now: hours, a metered network, a budget, a pause until further notice.

extension StepFlow {
    /// Takes in whether resources that are not urgent may be fetched.
    ///
    /// Where they may not any more, transfers under way end and keep their parts. What was deferred
    /// stays so in this run.
    mutating func permit(_ deferral: Deferral?) {
        steering.deferral = deferral
        withdraw()
    }

    /// Puts a target, or all of them, aside until further notice.
    mutating func putAside(_ target: Target?) {
        steering.aside.pause(target)
        withdraw()
    }

    /// Ends the transfers that may not run any more.
    private mutating func withdraw() {
        var positions: [Int] = []
        for position in window.running.positions {
            guard let deferral = deferral(of: position) else { continue }
            steering.withdrawn[position] = deferral
            positions.append(position)
        }
        if !positions.isEmpty { act(.cancel(positions.sorted(), discardingParts: false)) }
        for position in window.held {
            guard let deferral = deferral(of: position), window.takeHeld(position) else { continue }
            window.ended(position)
            settle(deferral, position)
        }
    }

    /// Why a transfer may not run, for itself and for those that share its request; nil where it may.
    func deferral(of position: Int) -> Deferral? {
        guard steering.deferral != nil || !steering.aside.isEmpty else { return nil }
        let steps = ([position] + (sharing.followers[position] ?? [])).map { plan.steps[$0] }
        return steering.deferral(of: steps.map(\.target)) {
            steps.contains { plan.resource(of: $0)?.isUrgent == true }
        }
    }

    /// Ends transfers that have not begun.
    mutating func postpone(_ postponed: [(position: Int, deferral: Deferral)]) {
        for (position, deferral) in postponed {
            window.ended(position)
            begin([position]) { _ in .deferred(deferral) }
        }
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
