internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

// MARK: The runs of a session

extension MirrorSession {
    /// Sends an input to all runs of this session, also to those that have not begun.
    func steer(_ input: RunInput) {
        for run in pending.withLock({ Array($0.values) }) { run.steer(input) }
        for run in underWay.values { run.steer(input) }
    }

    /// Whether a run under way has a step that gives a target new bytes.
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

    /// Executes a plan, and records its manifests. `run` gets the events and the end.
    func perform(_ plan: Plan, _ options: RunOptions, for run: RunControl) async {
        defer { forgetPending(run) }
        var ended: (execution: Execution, summary: Summary, totals: RunTotals)?
        do {
            try options.validate()
            try await engine.refuse(madeForAnotherRoot: plan)
            try await engine.using(waitingSeconds: 0) { engine in
                var requests = try PreparedRequests(plan, secrets: options.secrets)
                if let credentials = options.credentials, !options.isOffline {
                    let began = options.began ?? .now
                    let deadline = options.deadline.map { began.advanced(by: .seconds($0)) }
                    let supplied = try await run.outcome(until: deadline) { [requests] in
                        try await requests.supplied(for: plan, by: credentials)
                    }
                    // Without credentials the run ends before its first request. An end that a
                    // caller requested before stays the cause.
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
                forgetPending(run)
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

    private func forgetPending(_ run: RunControl) {
        pending.withLock { $0[ObjectIdentifier(run)] = nil }
    }
}

extension MirrorError {
    /// The error for a deadline that passes before the run begins. The summary says what is left.
    fileprivate static var isOverdue: MirrorError {
        MirrorError(.deadline, "The deadline is over.")
    }
}
