internal import MirrorModel
internal import Synchronization

/// Files on their way to their final names, and away from them.
extension Execution {
    /// Begins a step that needs no server: a copy, a move, or nothing at all.
    func beginLocally(_ position: Int) {
        let step = plan.steps[position]
        switch step.means {
        case .copy(let source): bring(position, from: source, .copy(of: source), .copied)
        case .move(let source): bring(position, from: source, .move(of: source), .moved)
        case .nothing where step.kind == .edited:
            finish(
                position,
                Event.Done(
                    target: step.target, step: step.kind, outcome: .edited, reason: step.reason,
                    verified: recordedVerification(of: step.target)))
        default: fail(position, .obstructed(step))
        }
    }

    private func bring(
        _ position: Int, from source: Target, _ content: Landing.Content, _ outcome: Outcome
    ) {
        let step = plan.steps[position]
        if step.kind == .conflict, configuration.onConflict == .keep {
            return fail(position, .conflictKept(step.target))
        }
        do {
            guard let donor = try engine.index.record(for: source) else {
                return submit([position])
            }
            var record = donor
            record.target = step.target
            record.owners = plan.owners(of: step)
            record.promotedAt = SystemClock.now()
            record.isExecutable = plan.isExecutable(step)
            noteBegun(position)
            emit(
                .start(
                    Event.Start(
                        target: step.target, step: step.kind, reason: step.reason, source: nil,
                        size: donor.stamp.size, offset: 0)))
            var done = Event.Done(
                target: step.target, step: step.kind, outcome: outcome, reason: step.reason,
                verified: donor.verified)
            switch step.kind {
            case .update: done.outcome = .updated
            case .repair: done.outcome = .repaired
            case .conflict: done.outcome = .conflict
            default: break
            }
            done.bytesReused = donor.stamp.size
            done.sha256 = donor.sha256
            land(position, step, record, content: content, done)
        } catch {
            fail(position, MirrorError(wrapping: error))
        }
    }

    /// Gives bytes their final name; the step ends when that is on the disk.
    func land(
        _ position: Int, _ step: Step, _ record: IndexRecord, content: Landing.Content,
        _ done: Event.Done
    ) {
        let modified = record.validators.lastModified?.seconds ?? SystemClock.now().seconds
        let landing = Landing(
            target: record.target, content: content, record: record,
            occupant: Landing.Occupant(step.occupant), modified: modified,
            isExecutable: record.isExecutable, onConflict: configuration.onConflict)
        let bytes = landing.bytesInMemory
        noteLanding(bytesInMemory: bytes)
        leases.land(landing.target) { [self] in
            engine.promoter.submit(landing) { [self] result in
                leases.landed(landing.target)
                noteLanded(bytesInMemory: bytes)
                settle(result, for: position, content, done)
            }
        }
    }

    private func settle(
        _ result: LandingResult, for position: Int, _ content: Landing.Content, _ done: Event.Done
    ) {
        switch result {
        case .landed(let landed, let conflict):
            var done = done
            done.target = landed.target
            if let conflict {
                done.conflict = conflict
                done.outcome = .conflict
            }
            finish(position, done)
            follow(position, landed)
        case .failed(let error): landingFailed(position, content, error)
        }
    }

    /// A copy whose source is gone, or turned out to have other bytes, is fetched instead.
    private func landingFailed(
        _ position: Int, _ content: Landing.Content, _ error: MirrorError
    ) {
        switch (content, error.code) {
        case (.copy, .sourceChanged), (.move, .sourceChanged): submit([position])
        default:
            fail(position, error)
            submitFollowers(of: position)
        }
    }

    /// Gives the bytes of a step to those that waited for the same request.
    func follow(_ leader: Int, _ landed: IndexRecord) {
        for position in sharing.followers[leader] ?? [] {
            let step = plan.steps[position]
            var record = landed
            record.target = step.target
            record.owners = plan.owners(of: step)
            record.isExecutable = plan.isExecutable(step)
            var done = Event.Done(
                target: step.target, step: step.kind, outcome: .copied,
                reason: .requestShared(with: landed.target), verified: landed.verified)
            done.bytesReused = landed.stamp.size
            done.sha256 = landed.sha256
            let verdict = ArrivalVerdict.judge(
                step, sha256: landed.sha256, validators: landed.validators, wasResumed: false)
            switch verdict {
            case .leave(let outcome, let reason):
                done.outcome = outcome
                done.reason = reason
                leave(position, step, record, done)
            case .land(let outcome, _):
                if outcome != .fetched { done.outcome = outcome }
                land(position, step, record, content: .copy(of: landed.target), done)
            }
        }
    }

    /// Removes an orphan, if it is still as mirror put it there.
    func remove(_ position: Int) {
        let step = plan.steps[position]
        guard case .ours(let stamp, _) = step.occupant else {
            return finishRemoval(position, .obstructed(step))
        }
        let removal = Removal(target: step.target, stamp: stamp)
        engine.promoter.submit(removal) { [self] in finishRemoval(position, $0) }
    }

    /// Enters the end of an orphan's removal; one that stayed is told, and is an orphan still.
    private func finishRemoval(_ position: Int, _ error: MirrorError?) {
        state.withLock { $0.ledger.enterRemoval(succeeded: error == nil) }
        if let error {
            tell(failure(of: position, error))
        } else {
            let step = plan.steps[position]
            emit(
                .removed(
                    Event.Removed(target: step.target, reason: step.reason, size: step.size)))
        }
        close(position)
    }
}

extension Landing.Occupant {
    /// What the promotion must find at the target for a step.
    init(_ occupant: Step.Occupant) {
        switch occupant {
        case .nothing, .recorded, .obstacle: self = .nothing
        case .ours(let stamp, _), .drifted(let stamp): self = .ours(stamp)
        case .foreign(let stamp, _): self = .foreign(stamp)
        }
    }
}

extension Landing.Content {
    /// A received body.
    init(_ content: ReceivedBody.Content) {
        switch content {
        case .memory(let bytes): self = .memory(bytes)
        case .part(let name, let stamp): self = .part(name, stamp)
        }
    }
}
