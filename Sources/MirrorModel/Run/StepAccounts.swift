/// The state of each step of a run: open, begun, ended; each step is counted once.
struct StepAccounts: Sendable {
    var ledger: Ledger
    /// Steps that have not ended.
    private(set) var open = PositionSet()
    /// Steps that were begun: a request was sent, or bytes were on their way.
    private var begun = PositionSet()
    /// The begun steps that were not finished when the run ended early.
    private(set) var interrupted: [Int] = []

    init(_ plan: Plan) {
        ledger = Ledger(
            resources: plan.wantedSteps + plan.skipped, skipped: plan.skipped,
            orphans: plan.orphansLeft, root: plan.root)
    }

    /// Opens steps.
    mutating func open(_ positions: some Sequence<Int>) { open.insert(positions) }

    /// Records that work on a step has begun.
    mutating func noteBegun(_ position: Int) { begun.insert(CollectionOfOne(position)) }

    /// Ends a step; false when it had ended before.
    @discardableResult
    mutating func close(_ position: Int) -> Bool { open.remove(position) }

    /// Ends steps that the run does not reach, and counts them as left out.
    mutating func leaveOut(_ positions: some Sequence<Int>) {
        var count = 0
        for position in positions where open.remove(position) { count += 1 }
        ledger.enterLeftOut(count)
    }

    /// Ends a step that ended only because the run did; false when it had ended before.
    @discardableResult
    mutating func enterUnfinished(_ position: Int) -> Bool {
        guard open.remove(position) else { return false }
        if begun.contains(position) {
            interrupted.append(position)
            ledger.enterInterrupted()
        } else {
            ledger.enterLeftOut(1)
        }
        return true
    }
}
