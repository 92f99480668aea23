internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The runs that a session has under way, and what is said to all of them.
///
/// It belongs to the session's actor, on which its functions run.
final class SessionRuns {
    private let root: String
    private let configuration: Configuration
    private let engine: SharedEngine
    private let manifests: ManifestRegister
    private let pending: PendingRuns
    /// The runs, by their identifiers.
    private var underWay: [String: Execution] = [:]
    /// Whether runs ask for no bytes, those that begin later included.
    private var isPaused = false

    init(
        root: String, _ configuration: Configuration, engine: SharedEngine,
        manifests: ManifestRegister, pending: PendingRuns
    ) {
        (self.root, self.configuration) = (root, configuration)
        (self.engine, self.manifests) = (engine, manifests)
        self.pending = pending
    }

    /// Sends an input to all runs, those included that were asked for and have not begun.
    func steer(_ input: RunInput) {
        pending.steer(input)
        for run in underWay.values { run.steer(input) }
    }

    /// Stops asking for bytes until `resumeAll`, also for runs that begin later.
    func pauseAll() {
        isPaused = true
        steer(.pause(nil))
    }

    /// Resumes asking for bytes.
    func resumeAll() {
        isPaused = false
        steer(.resume(nil))
    }

    /// Whether a run has a step that brings the bytes of a target.
    func fetches(_ target: Target) -> Bool {
        underWay.values.contains { run in
            let steps = run.plan.steps
            guard let position = steps.position(of: target) else { return false }
            return switch steps[position].means {
            case .transfer, .copy, .move: true
            case .nothing, .adoption, .removal: false
            }
        }
    }

    /// Carries out a plan, and remembers its manifests; `run` gets its events and its end.
    func perform(
        _ plan: Plan, _ options: RunOptions, for run: RunControl,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        defer { pending.remove(run) }
        var ended: (execution: Execution, summary: Summary, totals: RunTotals)?
        do {
            try options.validate()
            try await engine.refuse(madeForAnotherRoot: plan)
            try await engine.using(waitingSeconds: 0) { engine in
                // A closure runs on the actor only if it captures the isolated parameter (SE-0420).
                _ = isolation
                var requests = try PreparedRequests(plan, secrets: options.secrets)
                if let credentials = options.credentials, !options.isOffline {
                    let began = options.began ?? .now
                    let deadline = options.deadline.map { began.advanced(by: .seconds($0)) }
                    let supplied = try await run.outcome(until: deadline) { [requests] in
                        try await requests.supplied(for: plan, by: credentials)
                    }
                    // Without them, the run ends before its first request. What ended it already stays the cause.
                    if let supplied { requests = supplied } else { run.end(.error(.isOverdue)) }
                }
                var options = options
                options.paused.formUnion(try PausedTargets(in: engine.root))
                let execution = Execution(
                    plan: plan, options: options, configuration: configuration, engine: engine,
                    requests: requests, control: run)
                if isPaused { execution.steer(.pause(nil)) }
                underWay[execution.identifier] = execution
                run.attach(execution)
                pending.remove(run)
                let recording = manifests.recording(of: plan, in: engine)
                async let copies = recording.rememberNew()
                let (summary, totals) = try await Offload.run { execution.run() }
                run.note(execution.event(.summary(summary), totals: totals))
                ended = (execution, summary, totals)
                underWay[execution.identifier] = nil
                try await recording.write(copies: await copies)
            }
        } catch {
            guard ended != nil else { return run.fail(error, root: root) }
            ended?.summary.enter(late: MirrorError(wrapping: error))
        }
        guard let (execution, summary, totals) = ended else { return }
        run.send(execution.event(.summary(summary), totals: totals))
        run.finish(throwing: summary.error)
    }
}

extension MirrorError {
    /// The deadline came before the run began; its summary says what is left.
    fileprivate static var isOverdue: MirrorError {
        MirrorError(.deadline, "The deadline is over.")
    }
}

/// The runs that a session was asked for and that have not begun: what is said to all runs reaches them.
final class PendingRuns: Sendable {
    private let controls = Mutex<[ObjectIdentifier: RunControl]>([:])

    /// Adds a run that was asked for.
    func add(_ run: RunControl) { controls.withLock { $0[ObjectIdentifier(run)] = run } }

    /// Forgets a run that has begun, or that could not.
    func remove(_ run: RunControl) { controls.withLock { $0[ObjectIdentifier(run)] = nil } }

    /// Sends an input to all of them; they take it as soon as they begin.
    func steer(_ input: RunInput) {
        for run in controls.withLock({ Array($0.values) }) { run.steer(input) }
    }
}
