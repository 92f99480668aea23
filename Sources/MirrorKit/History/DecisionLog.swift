/// Writes a run's decisions and their outcomes into the run's log, from the run's events.
struct DecisionLog: ~Copyable {
    private let plan: Plan?
    private var log: RunLog
    /// The lines that are not yet written.
    private var lines = JSONWriter()
    /// The failed requests that were tried again, of transfers under way.
    private var failures: [Target: [PastDecision.PassingFailure]] = [:]

    /// Begins the log of a run of this plan. `nil` means that the run removes files without a plan.
    init(of run: String, _ plan: Plan?, in root: RootDirectory) {
        self.plan = plan
        log = RunLog(of: run, in: root)
    }

    /// Records an event of the run, which happened after so many milliseconds.
    mutating func note(_ event: Event.Body, at elapsed: Int64) {
        switch event {
        case .retry(let again), .restart(let again):
            failures[again.target, default: []].append(
                PastDecision.PassingFailure(
                    code: again.cause.code, message: again.cause.message, wait: again.wait,
                    began: elapsed, status: again.cause.status))
        case .done(let done): add(event, done.target)
        case .failed(let failed):
            add(event, failed.target, reason: step(of: failed.target)?.reason)
        case .removed(let removed): add(event, removed.target)
        case .plan, .start, .progress, .paused, .resumed, .set, .warning, .summary: break
        }
    }

    /// Records a resource whose step was under way when the run ended.
    mutating func note(interrupted target: Target) {
        guard let step = step(of: target) else { return }
        let passing = failures.removeValue(forKey: target) ?? []
        add(PastDecision(interrupted: step, failures: passing))
    }

    /// Writes the last lines and closes the log.
    mutating func close() {
        write()
        log.close()
    }

    private func step(of target: Target) -> Step? {
        plan.flatMap { plan in plan.steps.position(of: target).map { plan.steps[$0] } }
    }

    private mutating func add(_ event: Event.Body, _ target: Target, reason: Reason? = nil) {
        let failures = failures.isEmpty ? [] : failures.removeValue(forKey: target) ?? []
        guard let decision = PastDecision(event, failures: failures, reason: reason) else { return }
        add(decision)
    }

    private mutating func add(_ decision: PastDecision) {
        lines.object { decision.writeMembers(to: &$0) }
        lines.newline()
        if lines.bytes.count >= RunLog.chunk { write() }
    }

    private mutating func write() {
        log.add(lines.bytes)
        lines.clear()
    }
}
