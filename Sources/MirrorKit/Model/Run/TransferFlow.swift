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
    /// Steps whose targets another run of the process has.
    private var joined: Set<Int> = []
    /// The claims of the sets, by their numbers. Empty in a run that claims no targets for sets.
    private var setClaims: [SetClaim] = []

    /// The claim of a set on its targets.
    ///
    /// A set keeps its targets until all of it is promoted. If two runs each had a part of what the
    /// other run's set needs, both would wait for ever. So a set claims all its targets at once,
    /// before one of its files is fetched: it gets all of them, or none. It waits for other
    /// runs only while it has no target.
    private struct SetClaim {
        /// The steps whose targets the set has to claim, if they are open then.
        var steps: [Int] = []
        /// The transfers that wait until the run has the targets.
        var waiting = PositionSet()
        /// The steps whose targets other runs have.
        var occupied: Set<Int> = []
        var isTaken = false
    }

    init(_ book: borrowing StepBook) { aside = book.rules.paused }

    /// Fills the window with the plan's transfers.
    ///
    /// The transfers of a set follow once the run has all targets of the set.
    mutating func fill(besides local: [Int], _ book: inout StepBook) {
        var turns = book.sharing.leaders
        // An offline run sends no requests for a set, so it claims no targets for one.
        if !book.sets.isEmpty, !book.rules.isOffline {
            setClaims = book.sets.sets.entries.map { _ in SetClaim() }
            for position in local {
                if let set = book.sets.set(of: position) { setClaims[set].steps.append(position) }
            }
            let followers = book.sharing.followers.values.joined()
            for position in turns + followers {
                guard let set = book.sets.set(of: position) else { continue }
                setClaims[set].steps.append(position)
                setClaims[set].waiting.insert(position)
            }
            turns.removeAll { book.sets.has($0) }
        }
        window.fill(JobFeed(book.plan.turns(of: turns), window: book.rules.window))
        claimSets(&book)
    }

    /// Whether a transfer may begin now.
    func mayBeginMore(_ book: borrowing StepBook) -> Bool {
        // In an offline run a transfer ends at once, but takes memory until then.
        !book.isEnding && book.table.count < StepQueue.mostUnderWay && window.hasNext
    }

    /// Begins some of the transfers that may begin now.
    ///
    /// Their connections are opened, and messages are handled, before the next ones are prepared.
    mutating func beginMore(_ book: inout StepBook) {
        if mayBeginMore(book) { begin(window.next(), &book) }
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

    /// Begins transfers whose targets the run can claim, and ends those that may not begin.
    private mutating func begin(_ positions: [Int], _ book: inout StepBook) {
        var claimed: [Int] = []
        var offline: [Int] = []
        for position in positions {
            if !book.isWaiting(position) {
                // The step was cancelled before its turn came.
                window.ended(position)
            } else if !book.mayBegin(position) {
                window.ended(position)
                offline.append(position)
            } else if let set = unclaimedSet(of: position, book.sets) {
                window.ended(position)
                if book.isEnding {
                    book.leaveOut(CollectionOfOne(position))
                } else {
                    setClaims[set].waiting.insert(position)
                }
            } else if book.sets.isHopeless(position) {
                window.ended(position)
                book.accounts.leaveOut(CollectionOfOne(position))
                book.sets.close(position)
                book.letGo(position)
                addFollowers(of: position, &book)
            } else if let deferral = deferral(of: position, book) {
                window.ended(position)
                _ = book.begin([position], .transfer, needsRow: false)
                book.postpone(position, deferral)
            } else if let shortage = book.withoutRoom[position] {
                window.ended(position)
                _ = book.begin([position], .transfer, needsRow: false)
                book.leaveOut(position, because: .noRoom(shortage))
                addFollowers(of: position, &book)
            } else if book.keepsConflict(position) {
                fail(position, .conflictKept(book.plan.steps.target(at: position)), &book)
            } else if claim(position, &book) {
                claimed.append(position)
            }
        }
        for (position, work) in book.begin(offline, .transfer, needsRow: false) {
            let isChanged = [.repair, .conflict].contains(work.step.kind)
            let error = MirrorError(
                .offline,
                isChanged
                    ? "\(work.step.target): changed since mirror put it there, and not fetched again, because the run is offline."
                    : "\(work.step.target): not asked for, because the run is offline.",
                remedy: Remedy(.goOnline))
            settle(error, position, &book)
        }
        beginClaimed(claimed, &book)
        claimSets(&book)
    }

    /// Ends a transfer that does not begin. The steps that share its request send their own.
    private mutating func fail(_ position: Int, _ error: MirrorError, _ book: inout StepBook) {
        window.ended(position)
        book.fail(position, error)
        addFollowers(of: position, &book)
    }

    /// Claims a step's target. Returns false if the step waits for another run, or has failed.
    private mutating func claim(_ position: Int, _ book: inout StepBook) -> Bool {
        do throws(MirrorError) {
            if try book.surroundings.claim([position]).isEmpty {
                book.claimed.insert(position)
                return true
            }
            window.ended(position)
            joined.insert(position)
        } catch { fail(position, error, &book) }
        return false
    }

    /// Gives transfers to the loop whose targets the run has claimed.
    private mutating func beginClaimed(_ positions: [Int], _ book: inout StepBook) {
        var begun: [(position: Int, work: StepWork)] = []
        var unread: [Int] = []
        let hasRows = book.surroundings.hasPlannedRows
        for position in positions {
            let step = book.plan.steps[position]
            guard hasRows, let row = book.plan.steps.plannedRow(at: position, of: step) else {
                unread.append(position)
                continue
            }
            let work = StepWork(step, .transfer)
            work.row = row
            book.table.insert(work, at: position)
            begun.append((position, work))
        }
        begun += book.begin(unread, .transfer)
        for position in unread where book.table[position] == nil {
            window.ended(position)
            addFollowers(of: position, &book)
        }
        for (position, work) in begun {
            if book.isEnding {
                book.breakOff(position)
            } else if window.begins(position) {
                submit(position, work, &book)
            }
        }
    }

    private mutating func submit(_ position: Int, _ work: StepWork, _ book: inout StepBook) {
        book.surroundings.submit(
            position, work.step, storedMediaType: work.row?.mediaType,
            // The run may not promote the set, so its bytes must outlive the run.
            keepsPart: book.sets.has(position),
            isUrgent: book.rules.hasBudget
                && book.plan.isUrgent([position] + book.waitingFollowers(of: position)))
        if paused.contains(position) { book.surroundings.pause([position]) }
    }

    /// Settles a step for which no source gave the bytes, and the steps that share its request.
    mutating func settle(_ error: MirrorError, _ position: Int, _ book: inout StepBook) {
        guard let work = book.table[position] else { return }
        if error.code == .cancelled, book.isEnding { return book.breakOff(position) }
        if let done = book.settler.settle(error, for: work.step, row: work.row) {
            book.leave(position, done)
        } else {
            book.fail(position, error)
        }
        let followers = book.waitingFollowers(of: position)
        if followers.isEmpty { return }
        let (asking, sharing) = book.divide(followers, of: position, after: error)
        add(asking, &book)
        for (follower, work) in book.begin(sharing, .transfer, needsRow: false) {
            var shared = error
            shared.message = "\(work.step.target): as \(error.message)"
            settle(shared, follower, &book)
        }
    }

    /// Ends, as left out, the transfers that wait for a turn, a resume, or another run.
    mutating func leaveOutWhatWaits(_ book: inout StepBook) {
        book.leaveOut(window.takeRest())
        for position in window.takeHeld() { book.breakOff(position) }
        book.leaveOut(joined)
        joined = []
        for set in setClaims.indices { book.leaveOut(takeWaiting(of: set, book.sharing)) }
    }
}

// MARK: Other runs of the process

extension TransferFlow {
    /// Continues a step whose target another run of the process has released.
    ///
    /// `end` is how the other run ended its step. `nil` means that it gave the target up.
    mutating func rejoin(
        _ position: Int, _ end: Result<Event.Done, MirrorError>?, _ book: inout StepBook
    ) {
        if let set = unclaimedSet(of: position, book.sets),
            setClaims[set].occupied.remove(position) != nil
        {
            // A step that needs no server, or that has ended by now, does not use the other run's
            // end.
            if end != nil, setClaims[set].waiting.remove(position) { share(end, position, &book) }
            claimSets(&book)
        } else if joined.remove(position) != nil {
            share(end, position, &book)
        }
    }

    private mutating func share(
        _ end: Result<Event.Done, MirrorError>?, _ position: Int, _ book: inout StepBook
    ) {
        switch end {
        case .success(let done):
            for (_, work) in book.begin([position], .transfer, needsRow: false) {
                book.finish(position, done, isAcceptedStale: book.acceptsStale(work.row))
            }
        case .failure(let error): book.fail(position, error)
        case nil: return begin([position], &book)
        }
        addFollowers(of: position, &book)
    }

    /// Returns the set of a step if the set lacks its targets.
    private func unclaimedSet(of position: Int, _ sets: SetProgress) -> Int? {
        guard !setClaims.isEmpty, let set = sets.set(of: position) else { return nil }
        return setClaims[set].isTaken ? nil : set
    }

    /// Claims the targets of the sets whose transfers wait for them, and gives these their turns.
    private mutating func claimSets(_ book: inout StepBook) {
        for set in setClaims.indices
        where !setClaims[set].isTaken && setClaims[set].occupied.isEmpty {
            if setClaims[set].waiting.isEmpty || book.isEnding { continue }
            let open = setClaims[set].steps.filter(book.accounts.open.contains)
            do throws(MirrorError) {
                setClaims[set].occupied = Set(try book.surroundings.claim(open))
                if !setClaims[set].occupied.isEmpty { continue }
                setClaims[set].isTaken = true
                book.claimed.insert(open)
                window.add(book.plan.turns(of: takeWaiting(of: set, book.sharing)))
            } catch {
                let waiting = setClaims[set].waiting.positions
                setClaims[set].waiting.removeAll()
                for position in waiting { book.fail(position, error) }
            }
        }
    }

    /// Takes a set's waiting transfers, without those that wait for another one's request.
    private mutating func takeWaiting(of set: Int, _ sharing: RequestSharing) -> [Int] {
        var waiting = setClaims[set].waiting
        setClaims[set].waiting.removeAll()
        if !sharing.followers.isEmpty {
            for leader in waiting.positions {
                for follower in sharing.followers[leader] ?? [] { waiting.remove(follower) }
            }
        }
        return waiting.positions
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
        book.surroundings.pause(running(target, book.plan))
        book.tell(.paused(target))
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
            for position in window.resume() {
                if let work = book.table[position] { submit(position, work, &book) }
            }
        }
        book.surroundings.resume(running(target, book.plan))
        book.tell(.resumed(target))
    }

    /// Ends the wait of a step for its turn, for a resume, for another step or for another run.
    ///
    /// Returns whether another run has the step's target.
    mutating func stopWaiting(_ position: Int, _ sets: SetProgress) -> Bool {
        if window.takeHeld(position) {
            window.ended(position)
            return false
        }
        guard let set = unclaimedSet(of: position, sets) else {
            return joined.remove(position) != nil
        }
        setClaims[set].waiting.remove(position)
        return setClaims[set].occupied.contains(position)
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
            book.surroundings.cancel(positions.sorted(), discardingParts: false)
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
