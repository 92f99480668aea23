// Steps from their rows to their ends.

extension RunMachine {
    /// Begins steps: their rows are read.
    mutating func begin(_ positions: some Sequence<Int>, _ purpose: (Step) -> StepWork.Purpose) {
        var wishes: [RowWish] = []
        for position in positions {
            let step = plan.steps[position]
            works[position] = StepWork(step, purpose(step))
            wishes.append(RowWish(position: position, target: step.rowTarget))
        }
        if !wishes.isEmpty { act(.read(wishes)) }
    }

    /// Goes on with a step whose row is there.
    mutating func found(_ row: IndexRecord?, for position: Int) {
        guard var work = works[position] else { return }
        work.row = row
        works[position] = work
        let step = work.step
        switch work.purpose {
        case .transfer: break
        case .local: settleLocally(position, work)
        case .sharesBytes(let landed):
            carryOut(settler.share(landed, with: step, row: row, now: now.time), position)
        case .sharesAnswer(let answer):
            carryOut(settler.settle(answer, for: step, row: row, now: now.time), position)
        case .sharesEnd(let done): finish(position, done, isAcceptedStale: acceptsStale(row))
        case .failed(let error): settle(error, position)
        }
    }

    private mutating func settleLocally(_ position: Int, _ work: StepWork) {
        if isEnding { return breakOff(position) }
        let step = work.step
        guard let settlement = settler.settleLocally(step, row: work.row, now: now.time) else {
            return fetchInstead(position)
        }
        if case .land = settlement {
            steps.noteBegun(position)
            act(
                .tell(
                    .start(
                        .init(
                            target: step.target, step: step.kind, reason: step.reason, source: nil,
                            size: work.row?.stamp.size, offset: 0))))
        }
        carryOut(settlement, position)
    }

    /// A copy whose source is gone, or turned out to have other bytes, is fetched.
    private mutating func fetchInstead(_ position: Int) {
        if works.removeValue(forKey: position)?.isLocal == true { leaveQueue() }
        transfer([position])
    }

    /// Goes on with steps whose rows cannot be read: only a copy depends on one.
    mutating func unreadable(_ positions: [Int], _ error: MirrorError) {
        for position in positions {
            if works[position]?.isLocal == true {
                fail(position, error)
            } else {
                found(nil, for: position)
            }
        }
    }

    /// Does what comes of a step.
    mutating func carryOut(_ settlement: Settlement, _ position: Int) {
        switch settlement {
        case .land(let landing, let done):
            works[position]?.done = done
            works[position]?.bytesInMemory = landing.bytesInMemory
            window.landingBegins(bytesInMemory: landing.bytesInMemory)
            act(.land(position, landing))
        case .confirm(let confirmed, let done):
            works[position]?.done = done
            act(.confirm(position, confirmed))
        case .finish(let done):
            finish(
                position, done,
                isAcceptedStale: done.outcome != .stale || acceptsStale(works[position]?.row))
        case .fail(let error): fail(position, error)
        }
    }

    private func acceptsStale(_ row: IndexRecord?) -> Bool {
        guard rules.acceptsStale else { return false }
        guard let longest = rules.longestStale, let row else { return true }
        return row.wasConfirmed(within: longest, of: now.time)
    }
}

// MARK: What the disk says

extension RunMachine {
    /// Goes on with a step whose bytes have their final name, or failed to get it.
    mutating func landed(_ position: Int, _ result: LandingResult) {
        guard let work = works[position], var done = work.done else { return }
        window.landingEnded(bytesInMemory: work.bytesInMemory)
        switch result {
        case .landed(let record, let conflict):
            done.target = record.target
            if let conflict {
                done.conflict = conflict
                done.outcome = .conflict
            }
            finish(position, done)
            share(record, ofStep: position)
        case .failed(let error) where work.isCopy && error.code == .sourceChanged:
            fetchInstead(position)
        case .failed(let error):
            fail(position, error)
            transfer(sharing.followers[position] ?? [])
        }
    }

    /// Goes on with a step whose row was written, or not.
    mutating func confirmed(_ position: Int, _ error: MirrorError?) {
        if let error { return fail(position, error) }
        if let done = works[position]?.done { finish(position, done) }
    }

    /// Gives the bytes of a step to those that waited for the same request.
    mutating func share(_ record: IndexRecord, ofStep position: Int) {
        guard let followers = sharing.followers[position] else { return }
        begin(followers) { _ in .sharesBytes(record) }
    }
}

// MARK: Ends

extension RunMachine {
    /// Enters a step's good end.
    mutating func finish(_ position: Int, _ done: Event.Done, isAcceptedStale: Bool = true) {
        steps.ledger.enter(done, isAcceptedStale: isAcceptedStale)
        if done.outcome != .stale { discardSupersededParts(of: plan.steps.target(at: position)) }
        act(.tell(.done(done)))
        close(position, .done(done), isPassedOn: true)
    }

    /// Enters a step's failure, and ends the run where that was asked for or nothing else can work.
    mutating func fail(_ position: Int, _ error: MirrorError) {
        if error.code == .cancelled, isEnding { return breakOff(position) }
        let failed = failure(of: plan.steps[position], error)
        steps.ledger.enter(failed)
        tell(failed)
        close(position, .failed(failed.error), isPassedOn: error.code != .cancelled)
    }

    /// What is told of a step that failed.
    func failure(of step: Step, _ error: MirrorError) -> Event.Failed {
        let resource = plan.resource(of: step)
        var error = error
        error.target = step.target
        return Event.Failed(
            target: step.target, step: step.kind, error: error,
            isOptional: resource?.isOptional ?? false,
            manifest: plan.manifests[step.manifest].owner, line: resource?.line ?? 0)
    }

    /// Tells of a failure, which may end the run.
    mutating func tell(_ failed: Event.Failed) {
        act(.tell(.failed(failed)))
        if failed.error.code.endsRun {
            end(.error(failed.error))
        } else if rules.stopsAtFirstFailure, !failed.isOptional {
            end(.firstFailure)
        }
    }

    /// Ends a step: nothing more comes of it. What only the end of this run left undone, another run
    /// that wants the target does itself.
    mutating func close(_ position: Int, _ end: StepEnd, isPassedOn: Bool) {
        steps.close(position)
        guard let work = works.removeValue(forKey: position) else { return }
        if work.isLocal { leaveQueue() }
        guard work.isClaimed else { return }
        act(.release(position, work.step.target, isPassedOn || !isEnding ? end : .abandoned))
    }

    /// Removes parts that a step's good end leaves without a use.
    mutating func discardSupersededParts(of target: Target) {
        if let names = plan.supersededParts[target] { act(.discard(parts: names)) }
    }
}
