internal import MirrorModel
internal import MirrorStore

/// Writes a run's decisions and their outcomes into the run's log, from the run's events.
struct DecisionLog: ~Copyable {
    private let plan: Plan
    private var log: RunLog
    /// The writer of each line; all lines use its memory.
    private var json = JSONWriter()
    /// The requests of transfers under way that failed in passing.
    private var failures: [Target: [PastDecision.PassingFailure]] = [:]

    /// A log of a run of this plan.
    init(of run: String, _ plan: Plan, in root: RootDirectory) {
        self.plan = plan
        log = RunLog(of: run, in: root)
    }

    /// Takes in an event of the run.
    mutating func note(_ event: Event.Body) {
        switch event {
        case .retry(let again), .restart(let again):
            failures[again.target, default: []].append(
                PastDecision.PassingFailure(
                    code: again.cause.code, message: again.cause.message, wait: again.wait,
                    status: again.cause.status))
        case .done(let done): write(event, about: done.target)
        case .failed(let failed): write(event, about: failed.target)
        case .removed(let removed): write(event, about: removed.target)
        case .plan, .start, .progress, .set, .summary: break
        }
    }

    /// Ends the log.
    mutating func close() { log.close() }

    private mutating func write(_ event: Event.Body, about target: Target) {
        let failures = failures.isEmpty ? [] : failures.removeValue(forKey: target) ?? []
        var reason: Reason?
        if case .failed = event, let position = plan.steps.position(of: target) {
            reason = plan.steps[position].reason
        }
        guard let decision = PastDecision(event, failures: failures, reason: reason) else { return }
        json.object { decision.writeMembers(to: &$0) }
        json.newline()
        log.add(json.bytes)
        json.clear()
    }
}
