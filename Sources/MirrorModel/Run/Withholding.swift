/// What keeps files from being fetched until another run: a pause, or the hour, the network, the budget.
package struct Withholding: Sendable {
    /// Why resources that are not urgent may not be fetched now; nil where they may.
    package var deferral: Deferral?
    /// Targets that no run may fetch until somebody says so.
    package var aside: PausedTargets

    package init(deferral: Deferral? = nil, aside: PausedTargets) {
        (self.deferral, self.aside) = (deferral, aside)
    }

    /// Whether every file may be fetched.
    package var isEmpty: Bool { deferral == nil && aside.isEmpty }

    /// Why the one request that brings the bytes of these steps is not made; nil where it may be.
    ///
    /// It is made as long as one of them is wanted, or is urgent.
    package func deferral(of positions: [Int], in plan: Plan) -> Deferral? {
        if !aside.isEmpty,
            positions.allSatisfy({ aside.contains(plan.steps.target(at: $0)) })
        {
            return .paused
        }
        guard let deferral else { return nil }
        return plan.isUrgent(positions) ? nil : deferral
    }
}

extension Plan {
    /// Whether one of the steps that share a request is urgent.
    func isUrgent(_ positions: [Int]) -> Bool {
        positions.contains { resource(of: steps[$0])?.isUrgent == true }
    }
}
