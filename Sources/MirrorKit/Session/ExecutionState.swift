internal import MirrorModel

/// What an execution knows of its steps while they are under way; guarded by its mutex.
struct ExecutionState: Sendable {
    var ledger: Ledger
    /// Steps that have not ended.
    var open = PositionSet()
    /// Steps that were begun: a server was asked, or bytes were on their way.
    var begun = PositionSet()
    /// Those of them that were not finished when the run ended early.
    var interrupted: [Int] = []
    /// The loop's numbers of the transfers under way, by step.
    var jobs: [Int: Int] = [:]
    /// What the index knows of the targets of transfers under way, by step.
    var rows: [Int: IndexRecord] = [:]
    /// Steps whose targets another run of the session has under way.
    var joined: Set<Int> = []
    /// Whether transfers are held back until somebody lets them go on, and which have not begun.
    var isPaused = false
    var held: [TransferJob] = []
    /// Transfers that the loop has not been given yet.
    var feed = JobFeed()
    /// Whether the feed waits for landings.
    var isFeedHeld = false
    /// Landings that the promoter has not finished, and their bytes in memory.
    var landings = 0
    var landingBytes = 0
    var ending: Execution.Ending?
    var isWaiting = false
    /// How long what is under way is waited for after a signal.
    var graceEnd: ContinuousClock.Instant?
    /// The summary has been made: what ends later is no longer told.
    var isClosed = false

    /// Enters a step that ended only because the run did.
    mutating func enterUnfinished(_ position: Int) {
        guard open.remove(position) else { return }
        if begun.contains(position) {
            interrupted.append(position)
            ledger.enterInterrupted()
        } else {
            ledger.enterLeftOut(1)
        }
    }

    /// Whether the last open step has ended while that was waited for; true once.
    mutating func isDone() -> Bool {
        guard open.isEmpty, isWaiting else { return false }
        isWaiting = false
        return true
    }
}
