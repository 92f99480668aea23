/// The accounts of a run: each step is counted once, and so are the bytes of its transfer.
///
/// A step is open, perhaps begun, and ended. The room that the plan made in Caches for files which
/// did not come is entered here too.
struct StepAccounts: Sendable {
    var ledger: Ledger
    /// Steps that have not ended.
    private(set) var open = PositionSet()
    /// Steps that were begun: a request was sent, or bytes were on their way.
    private var begun = PositionSet()
    /// The begun steps that were not finished when the run ended early.
    private(set) var interrupted: [Int] = []
    /// What the transfers have brought, and are expected to bring.
    private(set) var meter = RunMeter()
    /// Bytes that the plan made room for in Caches and that did not come.
    private var roomLeft: Int64 = 0

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

// MARK: Bytes

extension StepAccounts {
    /// Adds a step's transfer to those that the run is expected to make.
    mutating func expectTransfer(_ position: Int, _ expected: ExpectedBytes) {
        meter.add(position, expected)
    }

    /// Counts what the transfer of a step tells.
    mutating func count(_ event: TransferEvent, of work: StepWork, at elapsed: Int64) {
        let old = work.count ?? TransferCount(work.step.expectedBytes)
        var new = old
        new.take(event, of: work.step)
        work.count = new
        meter.change(from: old, to: new, at: elapsed)
    }

    /// Counts the end of a step's transfer; a step without a transfer changes nothing.
    mutating func endTransfer(
        _ position: Int, _ count: TransferCount, hasFailed: Bool, at elapsed: Int64
    ) {
        meter.end(position, count, hasFailed: hasFailed, at: elapsed)
    }

    /// Notes that a file of Caches which was not there did not come.
    mutating func noteRoom(of step: Step) {
        guard step.target.area == .caches, case .nothing = step.existing else { return }
        roomLeft = roomLeft.addingSaturated(step.size ?? 0)
    }

    /// Whether a file that was to go fits in the room of those that did not come; takes that room.
    mutating func takeRoom(for step: Step) -> Bool {
        guard case .overQuota = step.reason, let size = step.size, size <= roomLeft else {
            return false
        }
        roomLeft -= size
        return true
    }
}
