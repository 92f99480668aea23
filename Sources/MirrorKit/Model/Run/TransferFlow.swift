/// Begins and steers the downloads of a run, each from its turn until the loop has it.
///
/// `TransferWindow` has the turns. The loop carries the downloads out. A download begins for those
/// of its targets that belong to this run, unless a pause or a permission forbids it. `StepFlow`
/// settles what it brings.
struct TransferFlow: ~Copyable {
    /// The transfers that the loop has, and those that wait for their turn.
    var window = TransferWindow()
    /// Why resources that are not urgent may not be fetched now. `nil` means that they may.
    private var deferral: Deferral?
    /// Targets that no run may fetch until a user resumes them.
    private var aside: PausedTargets
    /// Downloads that were ended because of `deferral` or `aside`, and why.
    private var withdrawn: [Int: Deferral] = [:]
    /// Steps whose downloads are paused. Some of them may not have begun.
    private var paused: Set<Int> = []
    /// Steps whose targets another run of the process has.
    private var joined: Set<Int> = []
    /// The claims of the sets, by their numbers.
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
        /// The steps that wait for bytes until the run has the targets.
        var waiting = PositionSet()
        /// The steps whose targets other runs have.
        var occupied: Set<Int> = []
        /// Whether the set has its targets, or claims none.
        var isTaken: Bool
    }

    init(_ book: borrowing StepBook) { aside = book.rules.paused }

    /// Fills the window with the plan's transfers.
    ///
    /// The transfers of a set follow once the run has all targets of the set.
    mutating func fill(besides local: [Int], _ book: inout StepBook) {
        var turns = book.planned.numbers
        if !book.sets.isEmpty {
            // A set that may not begin claims no targets.
            setClaims = book.sets.sets.entries.indices.map { set in
                SetClaim(isTaken: !book.mayBegin(set: set))
            }
            for position in local {
                guard let set = unclaimedSet(of: position, book.sets) else { continue }
                setClaims[set].steps.append(position)
            }
            for position in turns + book.planned.furtherSteps {
                guard let set = unclaimedSet(of: position, book.sets) else { continue }
                setClaims[set].steps.append(position)
                setClaims[set].waiting.insert(position)
            }
            turns.removeAll { unclaimedSet(of: $0, book.sets) != nil }
        }
        window.fill(JobFeed(book.plan.turns(of: turns), window: book.rules.window))
        claimSets(&book)
    }

    /// Whether a download may begin now.
    func mayBeginMore(_ book: borrowing StepBook) -> Bool {
        !book.isEnding && window.hasNext
    }

    /// Begins some of the downloads that may begin now.
    ///
    /// Their connections are opened, and messages are handled, before the next ones are prepared.
    mutating func beginMore(_ book: inout StepBook) {
        guard mayBeginMore(book) else { return }
        begin(
            window.next().map { number in
                let steps = book.waitingSteps(of: number)
                // The step with the download's number may have been cancelled before.
                if steps.first != number { changeNumber(number, to: steps.first, &book) }
                return steps
            }, &book)
    }

    /// Begins a download that the plan did not count, for steps that wait.
    mutating func add(_ steps: [Int], _ book: inout StepBook) {
        guard let number = steps.first else { return }
        book.accounts.expectTransfer(number, book.plan.steps[number].expectedBytes)
        begin([steps], &book)
    }

    /// Fetches bytes that were to come from another file or another step's download.
    mutating func fetchInstead(_ steps: [Int], _ book: inout StepBook) {
        for position in steps { book.table.remove(position) }
        add(steps, &book)
    }

    /// Gives a download that begins the number of another one of its steps.
    private mutating func changeNumber(_ old: Int, to new: Int?, _ book: inout StepBook) {
        window.ended(old)
        if let new {
            book.accounts.expectTransfer(new, book.plan.steps.expectedBytes(at: new))
        }
    }

    /// Begins downloads for the steps whose targets the run can claim, and ends the others.
    private mutating func begin(_ downloads: [[Int]], _ book: inout StepBook) {
        var claimed: [[Int]] = []
        var offline: [Int] = []
        for steps in downloads {
            guard let number = steps.first else { continue }
            let left: [Int]
            if book.mayBegin(number) {
                left = claim(steps, &book)
            } else {
                offline += steps
                left = []
            }
            if left.first != number { changeNumber(number, to: left.first, &book) }
            if !left.isEmpty { claimed.append(left) }
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

    /// Returns those of a download's steps that may begin, with their targets claimed.
    ///
    /// The others wait for another run or for their set, or have ended.
    private mutating func claim(_ steps: [Int], _ book: inout StepBook) -> [Int] {
        let number = steps[0]
        if let set = unclaimedSet(of: number, book.sets) {
            if book.isEnding {
                book.leaveOut(steps)
            } else {
                setClaims[set].waiting.insert(steps)
            }
            return []
        }
        if book.sets.isHopeless(number) {
            for position in steps {
                book.accounts.leaveOut(CollectionOfOne(position))
                book.sets.close(position)
                book.letGo(position)
            }
            return []
        }
        if let deferral = deferral(of: steps, book) {
            for (position, _) in book.begin(steps, .transfer, needsRow: false) {
                book.postpone(position, deferral)
            }
            return []
        }
        return steps.filter { position in
            if let shortage = book.withoutRoom[position] {
                _ = book.begin([position], .transfer, needsRow: false)
                book.leaveOut(position, because: .noRoom(shortage))
                return false
            }
            if book.keepsConflict(position) {
                book.fail(position, .conflictKept(book.plan.steps.target(at: position)))
                return false
            }
            return claim(position, &book)
        }
    }

    /// Claims a step's target. Returns false if the step waits for another run, or has failed.
    private mutating func claim(_ position: Int, _ book: inout StepBook) -> Bool {
        do throws(MirrorError) {
            if try book.surroundings.claim([position]).isEmpty {
                book.claimed.insert(position)
                return true
            }
            joined.insert(position)
        } catch { book.fail(position, error) }
        return false
    }

    /// Gives downloads to the loop whose targets the run has claimed.
    private mutating func beginClaimed(_ downloads: [[Int]], _ book: inout StepBook) {
        var unread: [Int] = []
        let hasRows = book.surroundings.hasPlannedRows
        for position in downloads.joined() {
            let step = book.plan.steps[position]
            guard hasRows, let row = book.plan.steps.plannedRow(at: position, of: step) else {
                unread.append(position)
                continue
            }
            let work = StepWork(step, .transfer)
            work.row = row
            book.table.insert(work, at: position)
        }
        _ = book.begin(unread, .transfer)
        for claimed in downloads {
            // The steps whose rows could not be read have failed.
            let steps = claimed.filter { book.table[$0] != nil }
            if steps.first != claimed[0] { changeNumber(claimed[0], to: steps.first, &book) }
            guard let number = steps.first, let work = book.table[number] else { continue }
            if book.isEnding {
                for position in steps { book.breakOff(position) }
                continue
            }
            let download = DownloadProgress(for: steps, expecting: work.step.expectedBytes)
            book.downloads[number] = download
            for position in steps { book.table[position]?.download = download }
            if window.begins(number) { submit(download, &book) }
        }
    }

    private mutating func submit(_ download: DownloadProgress, _ book: inout StepBook) {
        let steps = download.steps
        guard let work = book.table[download.receiver] else { return }
        book.surroundings.submit(
            download.number, work.step, with: download.others, storedMediaType: work.row?.mediaType,
            // The run may not promote the set, so its bytes must outlive the run.
            keepsPart: book.sets.has(download.receiver),
            isUrgent: book.rules.hasBudget && book.plan.isUrgent(steps))
        if steps.contains(where: paused.contains) { book.surroundings.pause([download.number]) }
    }

    /// Settles a step for which no source gave the bytes.
    mutating func settle(_ error: MirrorError, _ position: Int, _ book: inout StepBook) {
        guard let work = book.table[position] else { return }
        if error.code == .cancelled, book.isEnding { return book.breakOff(position) }
        if let done = book.settler.settle(error, for: work.step, row: work.row) {
            book.leave(position, done)
        } else {
            book.fail(position, error, isOfTransfer: true)
        }
    }

    /// Ends, as left out, the steps that wait for a turn, a resume, or another run.
    mutating func leaveOutWhatWaits(_ book: inout StepBook) {
        leaveOut(window.takeRest(), &book)
        for number in window.takeHeld() {
            for position in book.takeDownload(number) { book.breakOff(position) }
        }
        book.leaveOut(joined)
        joined = []
        for set in setClaims.indices { leaveOut(takeWaiting(of: set, book.planned), &book) }
    }

    /// Ends, as left out, the steps of planned downloads that have not begun.
    private mutating func leaveOut(_ numbers: [Int], _ book: inout StepBook) {
        if book.planned.haveFurtherSteps {
            book.leaveOut(numbers.flatMap { book.waitingSteps(of: $0) })
        } else {
            book.leaveOut(numbers)
        }
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
        case nil: add([position], &book)
        }
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
                window.add(book.plan.turns(of: takeWaiting(of: set, book.planned)))
            } catch {
                let waiting = setClaims[set].waiting.positions
                setClaims[set].waiting.removeAll()
                for position in waiting { book.fail(position, error) }
            }
        }
    }

    /// Takes the numbers of the downloads that wait for a set's targets.
    private mutating func takeWaiting(of set: Int, _ planned: PlannedDownloads) -> [Int] {
        let waiting = setClaims[set].waiting
        setClaims[set].waiting.removeAll()
        if !planned.haveFurtherSteps { return waiting.positions }
        var numbers = PositionSet()
        numbers.insert(waiting.positions.lazy.map(planned.number))
        return numbers.positions
    }
}

// MARK: Steering

extension TransferFlow {
    /// Pauses the download of a target. `nil` pauses all, and then no download begins either.
    mutating func pause(_ target: Target?, _ book: inout StepBook) {
        if let target {
            guard let position = book.plan.steps.position(of: target),
                paused.insert(position).inserted
            else { return }
        } else {
            if window.isPaused { return }
            window.pause()
        }
        book.surroundings.pause(running(target, book))
        book.tell(.paused(target))
    }

    /// Resumes the download of a target, unless it brings another paused one. `nil` resumes all.
    mutating func resume(_ target: Target?, _ book: inout StepBook) {
        if let target {
            guard let position = book.plan.steps.position(of: target),
                paused.remove(position) != nil || window.isPaused
            else { return }
        } else {
            if !window.isPaused, paused.isEmpty { return }
            paused = []
            for number in window.resume() {
                if let download = book.downloads[number] { submit(download, &book) }
            }
        }
        book.surroundings.resume(
            running(target, book).filter { number in
                book.downloads[number]?.steps.contains(where: paused.contains) == false
            })
        book.tell(.resumed(target))
    }

    /// Leaves a step out of its download, which then goes on unless another of its steps is paused.
    mutating func leaveOut(
        _ position: Int, of download: DownloadProgress, _ book: borrowing StepBook
    ) {
        download.leaveOut(position)
        guard paused.remove(position) != nil, !window.isPaused,
            window.running.contains(download.number),
            !download.steps.contains(where: paused.contains)
        else { return }
        book.surroundings.resume([download.number])
    }

    /// Ends the wait of a step for its set or for another run.
    ///
    /// Returns whether another run has the step's target.
    mutating func stopWaiting(_ position: Int, _ sets: SetProgress) -> Bool {
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

    /// Ends the wait of a download for a resume. Returns false if the loop has the download.
    mutating func takeHeld(_ number: Int) -> Bool {
        guard window.takeHeld(number) else { return false }
        window.ended(number)
        return true
    }

    /// Ends the downloads that a deferral or a pause forbids now.
    private mutating func withdraw(_ book: inout StepBook) {
        var numbers: [Int] = []
        for number in window.running.positions {
            guard let download = book.downloads[number],
                let deferral = deferral(of: download.steps, book)
            else { continue }
            withdrawn[number] = deferral
            numbers.append(number)
        }
        if !numbers.isEmpty { book.surroundings.cancel(numbers, discardingParts: false) }
        for number in window.held {
            guard let download = book.downloads[number],
                let deferral = deferral(of: download.steps, book), takeHeld(number)
            else { continue }
            for position in book.takeDownload(number) { book.postpone(position, deferral) }
        }
    }

    /// Returns why a cancelled download was withdrawn, and forgets the reason.
    ///
    /// Returns nil if the download was not withdrawn.
    mutating func takeWithdrawal(of number: Int) -> Deferral? {
        withdrawn.removeValue(forKey: number)
    }

    /// Returns why the download of these steps may not run. Returns nil if it may.
    private func deferral(of steps: [Int], _ book: borrowing StepBook) -> Deferral? {
        book.plan.deferral(of: steps, deferral, aside: aside)
    }

    /// Returns the numbers of the downloads that the loop has, of one target or of all.
    private func running(_ target: Target?, _ book: borrowing StepBook) -> [Int] {
        guard let target else { return window.running.positions }
        guard let position = book.plan.steps.position(of: target),
            let number = book.table[position]?.download?.number, window.running.contains(number)
        else { return [] }
        return [number]
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
