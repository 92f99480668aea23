/// The wishes from outside about the transfers of a run: not now, not until told, pause.
struct Steering: Sendable {
    /// What this run does not fetch.
    var withheld: Withholding
    /// Transfers that were told to end because of it.
    var withdrawn: [Int: Deferral] = [:]
    /// Transfers that are paused, and may not have begun.
    var paused: Set<Int> = []

    init(aside: PausedTargets) { withheld = Withholding(aside: aside) }
}
