// Transfers: how they begin, are steered, and end.

extension StepFlow {
    /// Begins as many transfers as may begin now.
    mutating func transferMore() {
        // Without servers each ends at once, and takes memory until its row was read.
        while !isEnding, works.count < StepQueue.mostUnderWay,
            case let positions = window.next(), !positions.isEmpty
        {
            transfer(positions)
        }
    }

    /// Begins transfers; the target of each is taken first.
    mutating func transfer(_ positions: [Int]) {
        var claims: [RowWish] = []
        var offline: [Int] = []
        var postponed: [(position: Int, deferral: Deferral)] = []
        for position in positions {
            if rules.isOffline {
                offline.append(position)
            } else if sets.isHopeless(position) {
                window.ended(position)
                accounts.leaveOut(CollectionOfOne(position))
                sets.close(position)
                transferFollowers(of: position)
            } else if let deferral = deferral(of: position) {
                postponed.append((position, deferral))
            } else if isKeptConflict(position) {
                window.ended(position)
                fail(position, .conflictKept(plan.steps.target(at: position)))
                transferFollowers(of: position)
            } else {
                let work = StepWork(plan.steps[position], .transfer)
                works[position] = work
                claims.append(
                    RowWish(
                        position: position, target: work.step.target,
                        planned: plan.steps.plannedRow(at: position, of: work.step)))
            }
        }
        for position in offline { window.ended(position) }
        begin(offline) { step in
            .failed(
                MirrorError(
                    .offline, "\(step.target): not asked for, because the run is offline.",
                    remedy: Remedy(.goOnline)))
        }
        postpone(postponed)
        if !claims.isEmpty { act(.claim(claims)) }
    }

    private func isKeptConflict(_ position: Int) -> Bool {
        rules.onConflict == .keep && plan.steps[position].kind == .conflict
    }

    /// Hands transfers whose targets are this run's to the loop.
    mutating func claimed(_ rows: [KnownRow]) {
        var submissions: [Submission] = []
        for known in rows {
            guard let work = works[known.position] else { continue }
            work.row = known.row
            work.isClaimed = true
            if isEnding {
                breakOff(known.position)
            } else if let deferral = deferral(of: known.position) {
                window.ended(known.position)
                settle(deferral, known.position)
            } else if window.begins(known.position) {
                submissions.append(submission(known.position, work))
            }
        }
        submit(submissions)
    }

    /// Has steps wait for another run of the process.
    mutating func occupied(_ positions: [Int]) {
        for position in positions {
            window.ended(position)
            works.removeValue(forKey: position)
        }
        if isEnding { leaveOut(positions) } else { joined.formUnion(positions) }
    }

    /// Another run of the process brought a target to its end, or gave it up.
    mutating func rejoin(_ position: Int, _ end: StepEnd) {
        guard joined.remove(position) != nil else { return }
        switch end {
        case .done(let done): begin([position]) { _ in .sharesEnd(done) }
        case .failed(let error): fail(position, error)
        case .abandoned: return transfer([position])
        }
        transferFollowers(of: position)
    }

    /// Asks for no more bytes of a target, or at all: then transfers that would begin wait too.
    mutating func pause(_ target: Target?) {
        if let target {
            if let position = plan.steps.position(of: target) { steering.paused.insert(position) }
        } else {
            window.pause()
        }
        act(.pause(running(target)))
    }

    /// Resumes asking for bytes.
    mutating func resume(_ target: Target?) {
        if let target {
            if let position = plan.steps.position(of: target) { steering.paused.remove(position) }
        } else {
            steering.paused = []
            submit(window.resume())
        }
        act(.resume(running(target)))
    }

    /// Ends the transfer of a target, or all; one that has not begun ends at once.
    mutating func cancel(_ target: Target?, discardingPart: Bool) {
        act(.cancel(running(target), discardingParts: discardingPart))
        guard let target, let position = plan.steps.position(of: target),
            window.takeHeld(position)
        else { return }
        window.ended(position)
        if discardingPart, let part = works[position]?.step.part {
            act(.discard(parts: [part.name]))
        }
        settle(.cancelled(target), position)
    }

    /// The transfers that the loop has: of one target, or all.
    private func running(_ target: Target?) -> [Int] {
        guard let target else { return window.running.positions }
        return plan.steps.position(of: target).map { window.running.contains($0) ? [$0] : [] } ?? []
    }

    private mutating func submit(_ positions: [Int]) {
        submit(
            positions.compactMap { position in
                works[position].map { submission(position, $0) }
            })
    }

    private func submission(_ position: Int, _ work: StepWork) -> Submission {
        Submission(position, work.step, work.row?.mediaType, keepsPart: isOfSet(position))
    }

    private mutating func submit(_ submissions: [Submission]) {
        if submissions.isEmpty { return }
        act(.submit(submissions))
        if steering.paused.isEmpty { return }
        let paused = submissions.map(\.position).filter(steering.paused.contains)
        if !paused.isEmpty { act(.pause(paused)) }
    }
}

// MARK: What a transfer tells

extension StepFlow {
    /// Takes in what a transfer tells.
    mutating func take(_ event: TransferEvent, of position: Int) {
        guard let work = works[position] else { return }
        count(event, of: work)
        work.note(event, at: now.elapsed)
        // Before the step goes on, because that may tell its end.
        if let news = event.news(of: work.step) { act(.tell(news)) }
        switch event {
        case .started: accounts.noteBegun(position)
        case .retry(_, _, let wait, _): if wait > 0 { window.delayed(position) }
        case .progress, .verifying, .restart: break
        case .ended(let result): ended(position, work, result)
        }
    }

    private mutating func ended(_ position: Int, _ work: StepWork, _ result: TransferResult) {
        window.ended(position)
        accounts.ledger.enter(result.cost)
        switch result {
        case .received(let body):
            if plan.isNamedByServer(work.step), case .nothing = work.step.existing {
                act(.name(position, body))
            } else {
                arrived(body, at: .success(work.step.target), for: position)
            }
        case .notModified(let answer, _):
            carryOut(
                settler.settle(answer, for: work.step, row: work.row, now: now.time), position)
            begin(sharing.followers[position] ?? []) { _ in .sharesAnswer(answer) }
        case .failed(let error, _): settle(error, position)
        case .cancelled(let cost):
            if cost.requests > 0 { accounts.noteBegun(position) }
            if let deferral = steering.withdrawn.removeValue(forKey: position), !isEnding {
                return settle(deferral, position, cost)
            }
            settle(.cancelled(work.step.target), position)
        }
    }

    /// A verified body: the file stays when it has these bytes already, else they get its name.
    mutating func arrived(
        _ body: ReceivedBody, at target: Result<Target, MirrorError>, for position: Int
    ) {
        guard let work = works[position] else { return }
        switch target {
        case .failure(let error):
            fail(position, error)
            transferFollowers(of: position)
        case .success(let target):
            let settlement = settler.settle(
                body, at: target, for: work.step, row: work.row, now: now.time)
            carryOut(settlement, position)
            guard case .confirm(let confirmed, _) = settlement else { return }
            // A leftover costs room and nothing else: the next run tries again.
            if case .part(let name, _) = body.content { act(.discard(parts: [name])) }
            share(confirmed.record, ofStep: position, as: .copy(of: confirmed.target))
        }
    }

    /// No source could give the bytes.
    mutating func settle(_ error: MirrorError, _ position: Int) {
        guard let work = works[position] else { return }
        if error.code == .cancelled, isEnding { return breakOff(position) }
        carryOut(settler.settle(error, for: work.step, row: work.row), position)
        begin(sharing.followers[position] ?? []) { step in
            var shared = error
            shared.message = "\(step.target): as \(error.message)"
            return .failed(shared)
        }
    }
}
