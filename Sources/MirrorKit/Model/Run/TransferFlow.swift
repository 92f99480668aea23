/// Begins and steers the transfers of a run, each from its turn until the loop has it.
///
/// `TransferWindow` has the turns. The loop carries the transfers out. A transfer begins once its
/// target belongs to this run, unless a pause or a permission forbids it. `StepFlow` settles what
/// the transfer brings.
struct TransferFlow: ~Copyable {
    /// The transfers that the loop has, and those that wait for their turn.
    var window = TransferWindow()
    /// Why resources that are not urgent may not be fetched now. `nil` means that they may.
    private var deferral: Deferral?
    /// Targets that no run may fetch until a user resumes them.
    private var aside: PausedTargets
    /// Transfers that were ended because of `deferral` or `aside`, and why.
    private var withdrawn: [Int: Deferral] = [:]
    /// Transfers that are paused. Some of them may not have begun.
    private var paused: Set<Int> = []
    /// Steps whose claims for their targets have no answer yet.
    private var claiming = PositionSet()
    /// Steps whose targets another run of the process has.
    private var joined: Set<Int> = []
    /// The claims of sets: a set's transfers begin once the run has all targets of the set.
    private var setClaims: SetClaims

    init(_ book: borrowing StepBook) {
        aside = book.rules.paused
        setClaims = SetClaims(book.sets, book.sharing)
    }

    /// Fills the window with the plan's transfers.
    ///
    /// The transfers of a set follow once the run has all targets of the set.
    mutating func fill(besides local: [Int], _ book: inout StepBook) {
        var turns = book.sharing.leaders
        // An offline run sends no requests for a set, so it claims no targets for one.
        if !setClaims.isEmpty, !book.rules.isOffline {
            _ = setClaims.add(local, areTransfers: false, book.sets)
            turns = setClaims.add(turns, areTransfers: true, book.sets)
            _ = setClaims.add(
                book.sharing.followers.values.joined(), areTransfers: true, book.sets)
            claimSets(&book)
        }
        window.fill(JobFeed(book.plan.turns(of: turns), window: book.rules.window))
    }

    /// Begins transfers that may begin now.
    ///
    /// No transfer begins while an answer to earlier claims is missing, so that earlier ones go
    /// ahead.
    mutating func beginMore(_ book: inout StepBook) {
        // In an offline run a transfer ends at once, but takes memory until its row was read.
        while claiming.isEmpty, !book.isEnding, book.table.count < StepQueue.mostUnderWay,
            case let positions = window.next(), !positions.isEmpty
        {
            begin(positions, &book)
        }
    }

    /// Begins transfers that the plan did not count.
    mutating func add(_ positions: [Int], _ book: inout StepBook) {
        for position in positions {
            book.accounts.expectTransfer(position, book.plan.steps[position].expectedBytes)
        }
        begin(positions, &book)
    }

    /// Begins the transfers of steps that were to share another step's bytes.
    mutating func addFollowers(of position: Int, _ book: inout StepBook) {
        let followers = book.waitingFollowers(of: position)
        if !followers.isEmpty { add(followers, &book) }
    }

    /// Fetches bytes that were to be copied: the file to copy is gone, or has other bytes.
    mutating func fetchInstead(_ position: Int, _ book: inout StepBook) {
        book.table.remove(position)
        add([position], &book)
    }

    /// Begins transfers by claiming their targets. Ends those that may not begin.
    private mutating func begin(_ positions: [Int], _ book: inout StepBook) {
        var claims: [RowWish] = []
        var offline: [Int] = []
        var postponed: [(position: Int, deferral: Deferral)] = []
        for position in positions {
            if !book.isWaiting(position) {
                // The step was cancelled before its turn came.
                window.ended(position)
            } else if !book.mayBegin(position) {
                offline.append(position)
            } else if setClaims.holdsBack(position, book.sets) {
                window.ended(position)
                if book.isEnding, setClaims.stopWaiting(position, book.sets) {
                    book.leaveOut(CollectionOfOne(position))
                }
            } else if book.sets.isHopeless(position) {
                window.ended(position)
                book.accounts.leaveOut(CollectionOfOne(position))
                book.sets.close(position)
                book.letGo(position)
                addFollowers(of: position, &book)
            } else if let deferral = deferral(of: position, book) {
                postponed.append((position, deferral))
            } else if book.keepsConflict(position) {
                window.ended(position)
                book.fail(position, .conflictKept(book.plan.steps.target(at: position)))
                addFollowers(of: position, &book)
            } else {
                let work = StepWork(book.plan.steps[position], .transfer)
                book.table.insert(work, at: position)
                claims.append(
                    RowWish(
                        position: position, target: work.step.target,
                        planned: book.plan.steps.plannedRow(at: position, of: work.step)))
            }
        }
        for position in offline { window.ended(position) }
        book.begin(offline) { step in
            .failed(
                MirrorError(
                    .offline, "\(step.target): not asked for, because the run is offline.",
                    remedy: Remedy(.goOnline)))
        }
        for (position, deferral) in postponed {
            window.ended(position)
            book.begin([position]) { _ in .deferred(deferral) }
        }
        if !claims.isEmpty {
            for claim in claims { claiming.insert(claim.position) }
            book.act(.claim(claims))
        }
        claimSets(&book)
    }

    /// Notes that the claim for a step's target has an answer.
    mutating func hasAnswer(_ position: Int) { claiming.remove(position) }

    /// Gives transfers to the loop whose targets the run has claimed.
    mutating func claimed(_ rows: [KnownRow], _ book: inout StepBook) {
        var submissions: [Submission] = []
        for known in rows {
            hasAnswer(known.position)
            guard let work = book.table[known.position] else { continue }
            work.row = known.row
            book.claimed.insert(known.position)
            if book.isEnding {
                book.breakOff(known.position)
            } else if let deferral = deferral(of: known.position, book) {
                window.ended(known.position)
                book.postpone(known.position, deferral)
            } else if window.begins(known.position) {
                submissions.append(submission(known.position, work, book))
            }
        }
        submit(submissions, &book)
    }

    private func submission(
        _ position: Int, _ work: StepWork, _ book: borrowing StepBook
    ) -> Submission {
        Submission(
            position, work.step, work.row?.mediaType, keepsPart: book.sets.has(position),
            isUrgent: book.rules.hasBudget
                && book.plan.isUrgent([position] + book.waitingFollowers(of: position)))
    }

    private mutating func submit(_ submissions: [Submission], _ book: inout StepBook) {
        if submissions.isEmpty { return }
        book.act(.submit(submissions))
        if paused.isEmpty { return }
        let held = submissions.map(\.position).filter(paused.contains)
        if !held.isEmpty { book.act(.pause(held)) }
    }

    /// Ends, as left out, the transfers that wait for a turn, a resume, or another run.
    mutating func leaveOutWhatWaits(_ book: inout StepBook) {
        book.leaveOut(window.takeRest())
        for position in window.takeHeld() { book.breakOff(position) }
        book.leaveOut(joined)
        joined = []
        book.leaveOut(setClaims.takeWaiting(book.sharing))
    }
}

// MARK: Other runs of the process

extension TransferFlow {
    /// Makes steps wait for another run of the process, which has their targets.
    mutating func occupied(_ positions: [Int], _ book: inout StepBook) {
        for position in positions {
            hasAnswer(position)
            window.ended(position)
            book.table.remove(position)
        }
        if book.isEnding { book.leaveOut(positions) } else { joined.formUnion(positions) }
    }

    /// Continues a step whose target another run of the process has released.
    ///
    /// `end` is how the other run ended its step. `nil` means that it gave the target up.
    mutating func rejoin(
        _ position: Int, _ end: Result<Event.Done, MirrorError>?, _ book: inout StepBook
    ) {
        if setClaims.letGo(position, book.sets) {
            // A step that needs no server, or that has ended by now, does not use the other run's
            // end.
            if end != nil, setClaims.stopWaiting(position, book.sets) {
                share(end, position, &book)
            }
            claimSets(&book)
        } else if joined.remove(position) != nil {
            share(end, position, &book)
        }
    }

    private mutating func share(
        _ end: Result<Event.Done, MirrorError>?, _ position: Int, _ book: inout StepBook
    ) {
        switch end {
        case .success(let done): book.begin([position]) { _ in .sharesEnd(done) }
        case .failure(let error): book.fail(position, error)
        case nil: return begin([position], &book)
        }
        addFollowers(of: position, &book)
    }
}

// MARK: Sets

extension TransferFlow {
    /// Claims the targets of the sets whose transfers wait for them.
    private mutating func claimSets(_ book: inout StepBook) {
        if setClaims.isEmpty || book.isEnding { return }
        for (group, steps) in setClaims.ask() {
            book.act(.claimSet(group, steps.filter(book.accounts.open.contains)))
        }
    }

    /// Gives turns to the transfers of a set whose targets the run has claimed.
    mutating func claimed(_ group: Int, _ positions: [Int], _ book: inout StepBook) {
        book.claimed.insert(positions)
        // The steps may have ended while the set waited.
        for position in positions where !book.accounts.open.contains(position) {
            book.letGo(position)
        }
        let waiting = setClaims.taken(group, book.sharing)
        window.add(book.plan.turns(of: waiting))
    }

    /// Makes a set wait until other runs of the process release its targets.
    mutating func occupied(_ group: Int, _ positions: [Int], _ book: inout StepBook) {
        setClaims.refused(group, because: positions)
    }
}

// MARK: Steering

extension TransferFlow {
    /// Pauses the transfer of a target. `nil` pauses all, and then no transfer begins either.
    mutating func pause(_ target: Target?, _ book: inout StepBook) {
        if let target {
            guard let position = book.plan.steps.position(of: target),
                paused.insert(position).inserted
            else { return }
        } else {
            if window.isPaused { return }
            window.pause()
        }
        book.act(.pause(running(target, book.plan)))
        book.act(.tell(.paused(target)))
    }

    /// Resumes the transfer of a target. `nil` resumes all.
    mutating func resume(_ target: Target?, _ book: inout StepBook) {
        if let target {
            guard let position = book.plan.steps.position(of: target),
                paused.remove(position) != nil || window.isPaused
            else { return }
        } else {
            if !window.isPaused, paused.isEmpty { return }
            paused = []
            var submissions: [Submission] = []
            for position in window.resume() {
                guard let work = book.table[position] else { continue }
                submissions.append(submission(position, work, book))
            }
            submit(submissions, &book)
        }
        book.act(.resume(running(target, book.plan)))
        book.act(.tell(.resumed(target)))
    }

    /// Ends the wait of a step for its turn, for a resume, for another step or for another run.
    ///
    /// Returns whether another run has the step's target.
    mutating func stopWaiting(_ position: Int, _ sets: SetProgress) -> Bool {
        if window.takeHeld(position) {
            window.ended(position)
            return false
        }
        setClaims.stopWaiting(position, sets)
        return joined.remove(position) != nil || setClaims.isOccupied(position, sets)
    }

    /// Notes whether resources that are not urgent may be fetched.
    ///
    /// If they may not, transfers under way end and keep their parts. A deferred step stays
    /// deferred in this run.
    mutating func permit(_ deferral: Deferral?, _ book: inout StepBook) {
        self.deferral = deferral
        withdraw(&book)
    }

    /// Puts a target aside until a user resumes it. `nil` puts all targets aside.
    mutating func putAside(_ target: Target?, _ book: inout StepBook) {
        aside.pause(target)
        withdraw(&book)
    }

    /// Ends the transfers that a deferral or a pause forbids now.
    private mutating func withdraw(_ book: inout StepBook) {
        var positions: [Int] = []
        for position in window.running.positions {
            guard let deferral = deferral(of: position, book) else { continue }
            withdrawn[position] = deferral
            positions.append(position)
        }
        if !positions.isEmpty {
            book.act(.cancel(positions.sorted(), discardingParts: false))
        }
        for position in window.held {
            guard let deferral = deferral(of: position, book), window.takeHeld(position) else {
                continue
            }
            window.ended(position)
            book.postpone(position, deferral)
        }
    }

    /// Returns why a cancelled transfer was withdrawn, and forgets the reason.
    ///
    /// Returns nil if the transfer was not withdrawn.
    mutating func takeWithdrawal(of position: Int) -> Deferral? {
        withdrawn.removeValue(forKey: position)
    }

    /// Returns why a transfer may not run, with the steps that share its request.
    ///
    /// Returns nil if the transfer may run.
    private func deferral(of position: Int, _ book: borrowing StepBook) -> Deferral? {
        if deferral == nil, aside.isEmpty { return nil }
        let sharing = [position] + book.waitingFollowers(of: position)
        return book.plan.deferral(of: sharing, deferral, aside: aside)
    }

    /// Returns the transfers that the loop has, of one target or of all.
    private func running(_ target: Target?, _ plan: Plan) -> [Int] {
        guard let target else { return window.running.positions }
        return plan.steps.position(of: target).map { window.running.contains($0) ? [$0] : [] } ?? []
    }
}

extension Plan {
    /// Returns why the one request that brings these steps' bytes is not sent.
    ///
    /// Returns nil if the request may be sent. It is not sent if all targets are put aside. It is
    /// not sent either if there is a `deferral` and no step is urgent.
    ///
    /// - Parameters:
    ///   - deferral: why resources that are not urgent may not be fetched. `nil` means that they
    ///     may.
    ///   - aside: targets that no run may fetch until a user resumes them.
    func deferral(
        of positions: [Int], _ deferral: Deferral?, aside: PausedTargets
    ) -> Deferral? {
        if !aside.isEmpty,
            positions.allSatisfy({ aside.contains(steps.target(at: $0)) })
        {
            return .paused
        }
        guard let deferral else { return nil }
        return isUrgent(positions) ? nil : deferral
    }

    /// Whether one of the steps that share a request is urgent.
    func isUrgent(_ positions: [Int]) -> Bool {
        positions.contains { resource(of: steps[$0])?.isUrgent == true }
    }
}
