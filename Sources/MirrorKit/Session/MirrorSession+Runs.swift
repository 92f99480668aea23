internal import Synchronization

// MARK: The runs of a session

extension MirrorSession {
    /// All runs of this session, also those that have not begun.
    private var runs: [RunControl] {
        pending.withLock { Array($0.values) } + underWay.values.map(\.control)
    }

    /// Sends an input to all runs of this session, also to those that have not begun.
    func steer(_ input: RunInput) {
        for run in runs { run.steer(input) }
    }

    /// Sends an input about a target to the runs that give the target new bytes.
    ///
    /// Returns whether there is such a run.
    func steer(_ input: RunInput, at target: Target) -> Bool {
        var isMeant = false
        for run in runs where run.steer(input, at: target) { isMeant = true }
        return isMeant
    }

    /// Executes a plan, and records its manifests. `run` gets the events and the end.
    func perform(_ plan: Plan, _ options: RunOptions, for run: RunControl) async {
        defer { forgetPending(run) }
        var ended: (execution: Execution, summary: Summary, totals: RunTotals)?
        do {
            try options.validate()
            try await engine.refuse(madeForAnotherRoot: plan)
            try await engine.using(waitingSeconds: 0) { engine in
                // A plan of many resources takes a while, and the actor serves other calls.
                let (checked, paused) = try await Offload.run {
                    [secrets = options.secrets, configuration] in
                    (
                        try PreparedRequests(
                            plan, secrets: secrets, substitutes: configuration.substitutes(),
                            signer: try plan.signer(configuration)),
                        try PausedTargets(in: engine.root)
                    )
                }
                var requests = checked
                if let credentials = options.credentials, !options.offline {
                    let began = options.began ?? .now
                    let deadline = options.deadline.map { began.advanced(by: $0) }
                    let supplied = try await run.outcome(until: deadline) { [requests] in
                        try await requests.supplied(for: plan, by: credentials)
                    }
                    // Without credentials the run ends before its first request. An end that a
                    // caller requested before stays the cause.
                    if let supplied { requests = supplied } else { run.end(.error(.isOverdue)) }
                }
                var options = options
                options.permission.budget = options.permission.budget?.share(of: engine.root.shard)
                options.paused.formUnion(paused)
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
            guard ended != nil else { return run.fail(error, in: self) }
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

extension Plan {
    /// Makes what signs requests to S3.
    ///
    /// Wrong settings of S3 in the environment concern only a plan that asks it for something.
    fileprivate func signer(_ configuration: Configuration) throws(MirrorError) -> S3Signer? {
        do throws(MirrorError) { return try S3Signer(configuration) } catch {
            let hasStore = configuration.store.contains { $0.lowercased().hasPrefix("s3:") }
            let asksS3 = steps.notable.contains { position in
                resource(of: steps[position])?.sources.contains { $0.url.scheme == .s3 } == true
            }
            if hasStore || asksS3 { throw error }
            return nil
        }
    }
}
