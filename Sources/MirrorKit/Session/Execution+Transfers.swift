internal import MirrorModel
internal import Synchronization

/// Transfers: submitting them, and settling how they ended.
extension Execution {
    /// Hands steps to the transfer loop; those that another run of this session has under way
    /// already wait for its end.
    func submit(_ positions: [Int]) {
        var jobs: [TransferJob] = []
        let rows = knownRows(positions)
        for position in positions {
            let step = plan.steps[position]
            if options.isOffline {
                settleFailure(
                    position,
                    MirrorError(.offline, "\(step.target): not asked for, because of --offline."))
                continue
            }
            if step.kind == .conflict, configuration.onConflict == .keep {
                fail(position, .conflictKept(step.target))
                submitFollowers(of: position)
                continue
            }
            guard claim(step.target, for: position),
                let job = job(for: step, at: position, row: rows[position])
            else { continue }
            jobs.append(job)
        }
        state.withLock { state in
            if state.isPaused { state.held += jobs } else { engine.submit(jobs) }
        }
        // The run may have been ended in between, and what ended it could not know these.
        if ending != nil { giveUp(jobs.map(\.id)) }
    }

    /// Lets those ask for themselves that waited for a step's answer.
    func submitFollowers(of position: Int) { submit(sharing.followers[position] ?? []) }

    /// Takes a step's target; false when another run of the session has it under way.
    private func claim(_ target: Target, for position: Int) -> Bool {
        state.withLock { _ = $0.joined.insert(position) }
        let isFirst = engine.claim(target, by: claimant(position)) { [self] in
            settleJoined(position, $0)
        }
        if isFirst {
            state.withLock { _ = $0.joined.remove(position) }
        } else if ending != nil, leavesJoined(position) {
            leaveOut([position])
        }
        return isFirst
    }

    /// Whether a step was still waiting for another run; it is not any more.
    private func leavesJoined(_ position: Int) -> Bool {
        state.withLock { $0.joined.remove(position) != nil }
    }

    /// What the index knows of the targets of steps: also where a file is gone, what it was tells what
    /// may come in its place. A row that cannot be read is asked for again when it is needed.
    private func knownRows(_ positions: [Int]) -> [Int: IndexRecord] {
        let targets = positions.map { plan.steps.target(at: $0) }
        guard let rows = try? engine.index.records(for: targets) else { return [:] }
        return zip(positions, rows).reduce(into: [:]) { $0[$1.0] = $1.1 }
    }

    private func job(for step: Step, at position: Int, row: IndexRecord?) -> TransferJob? {
        guard let resource = plan.resource(of: step) else { return nil }
        let identifier = engine.route { [self] in receive($0, for: step, at: position) }
        guard note(job: identifier, for: position, row: row) else {
            leaveOut([position])
            engine.release(step.target, by: claimant(position), .abandoned)
            return nil
        }
        let request = requests.request(for: resource)
        return TransferJob(
            id: identifier, target: step.target, sources: request.sources, postBody: request.body,
            expectation: Expectation(of: resource, replacing: row?.mediaType),
            local: step.local, part: step.part, priority: resource.priority,
            isDecisive: options.stopsAtFirstFailure && !resource.isOptional)
    }

    private func receive(_ news: TransferNews, for step: Step, at position: Int) {
        switch news {
        case .started(let source, let size, let offset):
            noteBegun(position)
            emit(
                .start(
                    Event.Start(
                        target: step.target, step: step.kind, reason: step.reason, source: source,
                        size: size ?? step.size, offset: offset)))
        case .progress(let bytes, let size, let rate):
            emit(
                .progress(
                    Event.Progress(target: step.target, bytes: bytes, size: size, rate: rate)))
        case .retry(let cause, let attempt, let wait):
            emit(
                .retry(
                    Event.Again(target: step.target, cause: cause, attempt: attempt, wait: wait)))
            if wait > 0 { noteDelay(of: position) }
        case .restart(let cause, let attempt):
            emit(
                .restart(
                    Event.Again(target: step.target, cause: cause, attempt: attempt, wait: 0)))
        case .ended(let result): settle(result, for: step, at: position)
        }
    }

    private func settle(_ result: TransferResult, for step: Step, at position: Int) {
        switch result {
        case .received(let body):
            _ = noteEnd(of: position, cost: body.cost)
            settle(body, for: step, at: position)
        case .notModified(let confirmation, let cost):
            let row = noteEnd(of: position, cost: cost)
            settle(confirmation, for: step, at: position, row: row)
        case .failed(let error, let cost):
            _ = noteEnd(of: position, cost: cost)
            settleFailure(position, error)
        case .cancelled(let cost):
            _ = noteEnd(of: position, cost: cost)
            if cost.requests > 0 { noteBegun(position) }
            settleFailure(position, .cancelled(step.target))
        }
    }

    /// A verified body: the file stays when it has these bytes already, else they get its name.
    private func settle(_ body: ReceivedBody, for step: Step, at position: Int) {
        let verdict = ArrivalVerdict.judge(
            step, sha256: body.sha256, validators: body.answer.validators,
            wasResumed: body.cost.bytesReused > 0)
        do {
            let target = try finalTarget(of: step, at: position, body)
            var done = Event.Done(
                target: step.target, step: step.kind, outcome: .unchanged, reason: step.reason,
                verified: body.verified)
            done.bytesReceived = body.cost.bytesReceived
            done.bytesReused = body.cost.bytesReused
            done.sha256 = body.sha256
            done.source = body.answer.source
            let record = record(of: body, at: target, for: step)
            switch verdict {
            case .leave(let outcome, let reason):
                if case .part(let name, _) = body.content {
                    try engine.parts.discard(part: name)
                }
                done.outcome = outcome
                done.reason = reason
                leave(position, step, record, done)
                follow(position, record)
            case .land(let outcome, let reason):
                done.outcome = outcome
                done.reason = reason
                land(position, step, record, content: Landing.Content(body.content), done)
            }
        } catch {
            fail(position, MirrorError(wrapping: error))
            submitFollowers(of: position)
        }
    }

    /// A 304: the source vouches for what is there.
    private func settle(
        _ confirmation: Confirmation, for step: Step, at position: Int, row: IndexRecord?
    ) {
        do {
            guard let known = try row ?? engine.index.record(for: step.target) else {
                throw MirrorError(
                    .internalError, "\(step.target): confirmed, and the index has no row of it.")
            }
            var record = known
            record.confirm(by: confirmation, at: SystemClock.now())
            record.owners = plan.owners(of: step)
            if case .ours(let stamp, record.sha256) = step.occupant {
                record.stamp = stamp
                record.isExecutable = plan.isExecutable(step)
            }
            var done = Event.Done(
                target: step.target, step: step.kind,
                outcome: step.kind == .edited ? .edited : .notModified, reason: .confirmed,
                verified: record.verified)
            done.sha256 = record.sha256
            done.source = confirmation.source
            confirm(
                position, record, isAdoption: false, wasExecutable: known.isExecutable, done)
        } catch {
            fail(position, MirrorError(wrapping: error))
        }
        for follower in sharing.followers[position] ?? [] {
            settle(confirmation, for: plan.steps[follower], at: follower, row: nil)
        }
    }

    /// No source could give the bytes. Where good bytes are there, that is no loss yet.
    func settleFailure(_ position: Int, _ error: MirrorError) {
        if error.code == .cancelled, ending != nil { return breakOff(position) }
        let step = plan.steps[position]
        if error.isRetryable, step.kind == .revalidate || step.kind == .edited {
            let outcome: Outcome = step.kind == .edited ? .edited : .stale
            let done = Event.Done(
                target: step.target, step: step.kind, outcome: outcome,
                reason: .unreachable(error.code),
                verified: recordedVerification(of: step.target))
            finish(position, done, isAcceptedStale: acceptsStale(step.target))
        } else {
            fail(position, error)
        }
        for follower in sharing.followers[position] ?? [] {
            var shared = error
            shared.message = "\(plan.steps[follower].target): as \(error.message)"
            settleFailure(follower, shared)
        }
    }

    private func acceptsStale(_ target: Target) -> Bool {
        guard options.acceptsStale else { return false }
        guard let longest = options.longestStale,
            let record = try? engine.index.record(for: target)
        else { return true }
        return record.wasConfirmed(within: longest, of: SystemClock.now())
    }

    /// Another run of the session brought the target to its end, or gave it up.
    private func settleJoined(_ position: Int, _ end: Engine.End) {
        guard leavesJoined(position) else { return }
        switch end {
        case .done(let done):
            finish(
                position, done,
                isAcceptedStale: done.outcome != .stale || acceptsStale(done.target))
        case .failed(let error): fail(position, error)
        case .abandoned: return submit([position])
        }
        submitFollowers(of: position)
    }
}
