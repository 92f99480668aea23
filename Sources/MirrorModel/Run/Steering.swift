/// The wishes from outside about the transfers of a run: not now, not until told, pause.
struct Steering: Sendable {
    /// Why resources that are not urgent may not be fetched now; nil where they may.
    var deferral: Deferral?
    /// Targets that no run may fetch until somebody says so.
    var aside: PausedTargets
    /// Transfers that were told to end because of one of these.
    var withdrawn: [Int: Deferral] = [:]
    /// Transfers that are paused, and may not have begun.
    var paused: Set<Int> = []

    init(aside: PausedTargets) { self.aside = aside }

    /// Why a transfer may not run; nil where it may.
    ///
    /// - Parameters:
    ///   - targets: those that its bytes are for.
    ///   - isUrgent: whether one of them does not wait for hours, networks and budgets.
    func deferral(of targets: [Target], isUrgent: () -> Bool) -> Deferral? {
        // One request serves them all, so it is made as long as one of them is wanted.
        if !aside.isEmpty, targets.allSatisfy(aside.contains) { return .paused }
        guard let deferral, !isUrgent() else { return nil }
        return deferral
    }
}
