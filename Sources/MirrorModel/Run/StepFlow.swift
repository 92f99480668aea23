/// The steps of a run, each from its row to its end.
///
/// `Settler` decides what becomes of a step, and `TransferWindow` which transfers may begin. A
/// failure that ends the run is noted here, and `RunMachine` acts on it.
struct StepFlow: ~Copyable {
    let plan: Plan
    let rules: RunRules
    let settler: Settler
    let sharing: RequestSharing
    var accounts: StepAccounts
    private(set) var meter = RunMeter()
    var window = TransferWindow()
    var works: [Serial: StepWork] = [:]
    /// How many of them are steps that need no server.
    var localUnderWay = 0
    /// The sets that are promoted as a whole.
    var sets: SetProgress
    /// Steps whose targets another run of the process has.
    var joined: Set<Int> = []
    var steering: Steering
    /// The cause that ends the run, or has ended it.
    private(set) var ending: RunEnding?
    private var actions: [RunAction] = []
    /// Bytes that the plan made room for in Caches and that did not come.
    private var roomLeft: Int64 = 0
    /// When the input came that is acted on.
    var now = RunMoment(elapsed: 0, time: Instant(seconds: 0))

    init(_ plan: Plan, rules: RunRules) {
        self.plan = plan
        self.rules = rules
        settler = Settler(plan: plan, onConflict: rules.onConflict)
        sharing = RequestSharing(plan)
        steering = Steering(aside: rules.paused)
        accounts = StepAccounts(plan)
        sets = SetProgress(plan)
        for position in sharing.leaders {
            meter.add(position, plan.steps.expectedBytes(at: position))
        }
    }

    /// Adds something that is to be done.
    mutating func act(_ action: RunAction) { actions.append(action) }

    /// Whether a file that was to go fits in the room of those that did not come; takes that room.
    mutating func hasRoom(for step: Step) -> Bool {
        guard case .overQuota = step.reason, let size = step.size, size <= roomLeft else {
            return false
        }
        roomLeft -= size
        return true
    }

    /// Takes the actions to carry out, in order; the next ones use the memory of those before.
    mutating func takeActions(into taken: inout [RunAction]) {
        if !taken.isEmpty { taken.removeAll(keepingCapacity: true) }
        if !actions.isEmpty { swap(&taken, &actions) }
    }

    /// Opens the steps that need no server and the transfers; so many files are kept as they are.
    mutating func open(_ local: [Int], kept: Int) {
        accounts.ledger.enterKept(kept)
        accounts.open(local)
        accounts.open(sharing.leaders)
        accounts.open(sharing.followers.values.joined())
        if !sets.isEmpty {
            sets.open(local)
            sets.open(sharing.leaders)
            sets.open(sharing.followers.values.joined())
        }
        window.fill(JobFeed(plan.turns(of: sharing.leaders), window: rules.window))
    }

    var isEnding: Bool { ending != nil }

    /// Notes what ends the run.
    mutating func noteEnding(_ ending: RunEnding) { self.ending = self.ending ?? ending }
}

extension StepFlow {
    /// Begins steps: their rows are read.
    mutating func begin(_ positions: some Sequence<Int>, _ purpose: (Step) -> StepWork.Purpose) {
        var wishes: [RowWish] = []
        for position in positions {
            let step = plan.steps[position]
            let work = StepWork(step, purpose(step))
            if work.isLocal { localUnderWay += 1 }
            works[position] = work
            wishes.append(RowWish(position: position, target: step.rowTarget))
        }
        if !wishes.isEmpty { act(.read(wishes)) }
    }

    /// Continues a step whose row is there.
    mutating func found(_ row: IndexRecord?, for position: Int) {
        guard let work = works[position] else { return }
        work.row = row
        let step = work.step
        switch work.purpose {
        case .transfer: break
        case .local: settleLocally(position, work)
        case .sharesBytes(let landed, let content):
            carryOut(
                settler.share(landed, with: step, as: content, row: row, now: now.time), position)
        case .sharesAnswer(let answer):
            carryOut(settler.settle(answer, for: step, row: row, now: now.time), position)
        case .sharesEnd(let done): finish(position, done, isAcceptedStale: acceptsStale(row))
        case .deferred(let deferral): settle(deferral, position)
        case .failed(let error): settle(error, position)
        }
    }

    private mutating func settleLocally(_ position: Int, _ work: StepWork) {
        if isEnding { return breakOff(position) }
        let step = work.step
        if step.kind == .evicted, isEssential(position) {
            return fail(position, .noRoomForSet(step))
        }
        guard
            let settlement = settler.settleLocally(
                step, row: work.row, now: now.time, isOfSet: isOfSet(position))
        else {
            return fetchInstead(position)
        }
        if case .land = settlement {
            accounts.noteBegun(position)
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
    mutating func fetchInstead(_ position: Int) {
        if works.removeValue(forKey: position)?.isLocal == true { localUnderWay -= 1 }
        add([position])
    }

    /// Begins transfers that the plan did not count.
    mutating func add(_ positions: [Int]) {
        for position in positions { meter.add(position, plan.steps[position].expectedBytes) }
        transfer(positions)
    }

    /// Begins the transfers of steps that were to share the bytes of another.
    mutating func transferFollowers(of position: Int) {
        if let followers = sharing.followers[position] { add(followers) }
    }

    /// Counts what the transfer of a step tells.
    mutating func count(_ event: TransferEvent, of work: StepWork) {
        let old = work.count ?? TransferCount(work.step.expectedBytes)
        var new = old
        new.take(event, of: work.step)
        work.count = new
        meter.change(from: old, to: new, at: now.elapsed)
    }

    /// Ends steps whose rows cannot be read. Where the end is known without the row, it stays that end.
    mutating func unreadable(_ positions: [Int], _ error: MirrorError) {
        for position in positions {
            guard let work = works[position] else { continue }
            switch work.purpose {
            case .failed, .deferred, .sharesEnd: found(nil, for: position)
            case .transfer:
                // Letting a target go that was not taken has no effect.
                work.isClaimed = true
                window.ended(position)
                fail(position, error)
                transferFollowers(of: position)
            case .local, .sharesBytes, .sharesAnswer: fail(position, error)
            }
        }
    }

    /// Carries out the settlement of a step.
    mutating func carryOut(_ settlement: Settlement, _ position: Int) {
        switch settlement {
        case .land(let landing, let done):
            works[position]?.done = done
            if isOfSet(position) { return hold(position, .land(landing)) }
            works[position]?.bytesInMemory = landing.bytesInMemory
            window.landingBegins(bytesInMemory: landing.bytesInMemory)
            act(.land(position, landing))
        case .confirm(let confirmed, let done):
            works[position]?.done = done
            if confirmed.mode != nil, isOfSet(position) {
                return hold(position, .confirm(confirmed))
            }
            act(.confirm(position, confirmed))
        case .finish(let done):
            finish(
                position, done,
                isAcceptedStale: done.outcome != .stale || acceptsStale(works[position]?.row))
        case .fail(let error): fail(position, error)
        }
    }

    /// Whether a step is promoted together with others.
    func isOfSet(_ position: Int) -> Bool { !sets.isEmpty && sets.set(of: position) != nil }

    private func acceptsStale(_ row: IndexRecord?) -> Bool {
        guard rules.acceptsStale else { return false }
        guard let longest = rules.longestStale, let row else { return true }
        return row.wasConfirmed(within: longest, of: now.time)
    }
}

// MARK: What the disk says

extension StepFlow {
    /// Continues a step whose bytes have their final name, or failed to get it.
    mutating func landed(_ position: Int, _ result: LandingResult) {
        guard let work = works[position], let done = work.done.take() else { return }
        window.landingEnded(bytesInMemory: work.bytesInMemory)
        switch result {
        case .landed(let landing, let stamp, _):
            conclude(position, consume done, result)
            if sharing.followers[position] != nil {
                share(
                    landing.record(stamp: stamp), ofStep: position, as: .copy(of: landing.target))
            }
        case .failed(let error) where work.isCopy && error.code == .sourceChanged:
            fetchInstead(position)
        case .failed(let error):
            fail(position, error)
            transferFollowers(of: position)
        }
    }

    /// Ends a step whose bytes have their final name, or failed to get it.
    mutating func conclude(
        _ position: Int, _ done: consuming Event.Done, _ result: LandingResult
    ) {
        switch result {
        case .landed(let landing, _, let conflict):
            done.target = landing.target
            if let conflict {
                done.conflict = conflict
                done.outcome = .conflict
            }
            finish(position, consume done)
        case .failed(let error): fail(position, error)
        }
    }

    /// Continues a step whose row was written, or failed to be.
    mutating func confirmed(_ position: Int, _ error: MirrorError?) {
        if let error { return fail(position, error) }
        if let done = works[position]?.done.take() { finish(position, consume done) }
    }

    /// Gives the bytes of a step to those that waited for the same request.
    mutating func share(
        _ record: @autoclosure () -> IndexRecord, ofStep position: Int,
        as content: Landing.Content
    ) {
        guard let followers = sharing.followers[position] else { return }
        let record = record()
        begin(followers) { _ in .sharesBytes(record, content) }
    }
}

// MARK: Ends

extension StepFlow {
    /// Enters a step's good end.
    mutating func finish(
        _ position: Int, _ done: consuming Event.Done, isAcceptedStale: Bool = true
    ) {
        accounts.ledger.enter(done, isAcceptedStale: isAcceptedStale)
        if !sets.isEmpty { noteObstacle(position, done, isAcceptedStale: isAcceptedStale) }
        if done.outcome != .stale, done.outcome != .deferred {
            discardSupersededParts(of: done.target)
        }
        // An end that another run brought has that run's times.
        done.trace = works[position]?.trace
        act(.tell(.done(done)))
        close(position, .done(done), isPassedOn: true)
    }

    /// Enters a step's failure, and ends the run where that was asked for or nothing else can work.
    mutating func fail(_ position: Int, _ error: MirrorError) {
        if error.code == .cancelled, isEnding { return breakOff(position) }
        var failed = plan.failure(of: plan.steps[position], error)
        failed.trace = works[position]?.trace
        accounts.ledger.enter(failed)
        if isEssential(position) { sets.note(.failed(failed.error), at: position) }
        tell(failed)
        close(position, .failed(failed.error), isPassedOn: error.code != .cancelled)
    }

    /// Tells of a failure, which may end the run.
    mutating func tell(_ failed: Event.Failed) {
        act(.tell(.failed(failed)))
        if failed.error.code.endsRun {
            noteEnding(.error(failed.error))
        } else if rules.stopsAtFirstFailure, !failed.isOptional {
            noteEnding(.firstFailure)
        }
    }

    /// Ends a step: nothing more comes of it. If only the end of this run left it undone, another
    /// run that wants the target does the step itself.
    mutating func close(_ position: Int, _ end: StepEnd, isPassedOn: Bool) {
        accounts.close(position)
        if !sets.isEmpty { sets.close(position) }
        noteRoom(position, end)
        let work = works.removeValue(forKey: position) ?? takeHeld(position)
        let hasFailed = if case .failed = end { true } else { false }
        meter.end(
            position, work?.count ?? TransferCount(plan.steps.expectedBytes(at: position)),
            hasFailed: hasFailed, at: now.elapsed)
        guard let work else { return }
        if work.isLocal { localUnderWay -= 1 }
        guard work.isClaimed else { return }
        act(.release(position, work.step.target, isPassedOn || !isEnding ? end : .abandoned))
    }

    /// Notes that a file of Caches which was not there did not come.
    private mutating func noteRoom(_ position: Int, _ end: StepEnd) {
        guard plan.evictableFiles > 0 else { return }
        switch end {
        case .failed, .abandoned: break
        case .done(let done): if done.outcome != .deferred { return }
        }
        let step = plan.steps[position]
        guard step.target.area == .caches, case .nothing = step.existing else { return }
        roomLeft = roomLeft.addingSaturated(step.size ?? 0)
    }

    /// Removes parts that a step's good end leaves without a use.
    mutating func discardSupersededParts(of target: Target) {
        if let names = plan.supersededParts[target] { act(.discard(parts: names)) }
    }
}
