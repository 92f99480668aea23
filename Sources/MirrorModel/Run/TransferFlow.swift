/// The transfers of a run, each from its turn until the loop has it: taken, paused, withdrawn.
///
/// `TransferWindow` has the turns. A transfer begins once its target belongs to this run, unless
/// a pause or a permission forbids it. `StepFlow` settles what it brings.
struct TransferFlow: ~Copyable {
    /// The transfers that the loop has, and those whose turn comes.
    var window = TransferWindow()
    /// Why resources that are not urgent may not be fetched now; nil where they may.
    private var deferral: Deferral?
    /// Targets that no run may fetch until a user resumes them.
    private var aside: PausedTargets
    /// Transfers that were ended because of either.
    private var withdrawn: [Int: Deferral] = [:]
    /// Transfers that are paused, and may not have begun.
    private var paused: Set<Int> = []
    /// Steps whose targets were asked for, and that have no answer yet.
    private var claiming = PositionSet()
    /// Steps whose targets another run of the process has.
    private var joined: Set<Int> = []
    /// The sets, whose transfers begin once all targets of their set are this run's.
    private var setClaims: SetClaims

    init(_ book: borrowing StepBook) {
        aside = book.rules.paused
        setClaims = SetClaims(book.sets, book.sharing)
    }

    /// Sets the transfers of the plan, in their turns; those of a set once it has its targets.
    mutating func fill(besides local: [Int], _ book: inout StepBook) {
        var turns = book.sharing.leaders
        // Nothing is taken for requests that are not made.
        if !setClaims.isEmpty, !book.rules.isOffline {
            _ = setClaims.add(local, areTransfers: false, book.sets)
            turns = setClaims.add(turns, areTransfers: true, book.sets)
            _ = setClaims.add(
                book.sharing.followers.values.joined(), areTransfers: true, book.sets)
            claimSets(&book)
        }
        window.fill(JobFeed(book.plan.turns(of: turns), window: book.rules.window))
    }

    /// Begins transfers that may begin now; none while others wait for the answer whether they have their
    /// targets, so that these go ahead.
    mutating func beginMore(_ book: inout StepBook) {
        // Without servers each ends at once, and takes memory until its row was read.
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

    /// Begins the transfers of steps that were to share the bytes of another.
    mutating func addFollowers(of position: Int, _ book: inout StepBook) {
        let followers = book.waitingFollowers(of: position)
        if !followers.isEmpty { add(followers, &book) }
    }

    /// Fetches what was to be copied: the source is gone, or turned out to have other bytes.
    mutating func fetchInstead(_ position: Int, _ book: inout StepBook) {
        book.table.remove(position)
        add([position], &book)
    }

    /// Begins transfers; the target of each is taken first.
    private mutating func begin(_ positions: [Int], _ book: inout StepBook) {
        var claims: [RowWish] = []
        var offline: [Int] = []
        var postponed: [(position: Int, deferral: Deferral)] = []
        for position in positions {
            if !book.isWaiting(position) {
                // It was cancelled before its turn came.
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

    /// Notes that there is an answer whether a step has its target.
    mutating func hasAnswer(_ position: Int) { claiming.remove(position) }

    /// Hands transfers whose targets are this run's to the loop.
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

    /// Skips the transfers that wait for their turn, for a resume, or for another run.
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
    /// Has steps wait for another run of the process.
    mutating func occupied(_ positions: [Int], _ book: inout StepBook) {
        for position in positions {
            hasAnswer(position)
            window.ended(position)
            book.table.remove(position)
        }
        if book.isEnding { book.leaveOut(positions) } else { joined.formUnion(positions) }
    }

    /// Another run of the process brought a target to its end, or gave it up.
    mutating func rejoin(
        _ position: Int, _ end: Result<Event.Done, MirrorError>?, _ book: inout StepBook
    ) {
        if setClaims.letGo(position, book.sets) {
            // A file that needs no server, or that has ended by now, needs nothing from the other run.
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
    /// Asks for the targets of the sets whose transfers wait for them.
    private mutating func claimSets(_ book: inout StepBook) {
        if setClaims.isEmpty || book.isEnding { return }
        for (group, steps) in setClaims.ask() {
            book.act(.claimSet(group, steps.filter(book.accounts.open.contains)))
        }
    }

    /// Begins the transfers of a set whose targets are this run's, when their turns come.
    mutating func claimed(_ group: Int, _ positions: [Int], _ book: inout StepBook) {
        book.claimed.insert(positions)
        // The steps may have ended while the set waited.
        for position in positions where !book.accounts.open.contains(position) {
            book.letGo(position)
        }
        let waiting = setClaims.taken(group, book.sharing)
        window.add(book.plan.turns(of: waiting))
    }

    /// Has a set wait until other runs of the process let its targets go.
    mutating func occupied(_ group: Int, _ positions: [Int], _ book: inout StepBook) {
        setClaims.refused(group, because: positions)
    }
}

// MARK: Steering

extension TransferFlow {
    /// Asks for no more bytes of a target, or at all: then transfers that would begin wait too.
    mutating func pause(_ target: Target?, _ book: inout StepBook) {
        if let target {
            if let position = book.plan.steps.position(of: target) {
                paused.insert(position)
            }
        } else {
            window.pause()
        }
        book.act(.pause(running(target, book.plan)))
    }

    /// Resumes asking for bytes.
    mutating func resume(_ target: Target?, _ book: inout StepBook) {
        if let target {
            if let position = book.plan.steps.position(of: target) {
                paused.remove(position)
            }
        } else {
            paused = []
            var submissions: [Submission] = []
            for position in window.resume() {
                guard let work = book.table[position] else { continue }
                submissions.append(submission(position, work, book))
            }
            submit(submissions, &book)
        }
        book.act(.resume(running(target, book.plan)))
    }

    /// Ends the wait of a step for its turn, for a resume, for another step or another run; returns
    /// whether another run has its target.
    mutating func stopWaiting(_ position: Int, _ sets: SetProgress) -> Bool {
        if window.takeHeld(position) {
            window.ended(position)
            return false
        }
        setClaims.stopWaiting(position, sets)
        return joined.remove(position) != nil || setClaims.isOccupied(position, sets)
    }

    /// Takes in whether resources that are not urgent may be fetched.
    ///
    /// Where they may not any more, transfers under way end and keep their parts. What was deferred
    /// stays so in this run.
    mutating func permit(_ deferral: Deferral?, _ book: inout StepBook) {
        self.deferral = deferral
        withdraw(&book)
    }

    /// Puts a target, or all of them, aside until further notice.
    mutating func putAside(_ target: Target?, _ book: inout StepBook) {
        aside.pause(target)
        withdraw(&book)
    }

    /// Ends the transfers that may not run any more.
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

    /// Why a cancelled transfer was withdrawn, if it was; forgets that.
    mutating func takeWithdrawal(of position: Int) -> Deferral? {
        withdrawn.removeValue(forKey: position)
    }

    /// Why a transfer may not run, for itself and for those that share its request; nil where it may.
    private func deferral(of position: Int, _ book: borrowing StepBook) -> Deferral? {
        if deferral == nil, aside.isEmpty { return nil }
        let sharing = [position] + book.waitingFollowers(of: position)
        return book.plan.deferral(of: sharing, deferral, aside: aside)
    }

    /// The transfers that the loop has: of one target, or all.
    private func running(_ target: Target?, _ plan: Plan) -> [Int] {
        guard let target else { return window.running.positions }
        return plan.steps.position(of: target).map { window.running.contains($0) ? [$0] : [] } ?? []
    }
}

extension Plan {
    /// Why the one request that brings the bytes of these steps is not made; nil where it may be.
    ///
    /// It is made as long as one of them is wanted, or is urgent.
    ///
    /// - Parameters:
    ///   - deferral: why resources that are not urgent may not be fetched now; nil where they may.
    ///   - aside: targets that no run may fetch until a user resumes them.
    package func deferral(
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
