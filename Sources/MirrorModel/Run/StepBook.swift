/// The book of a run's steps: which are under way, and how each of them ends.
///
/// Whoever ends a step ends it here, so that it is counted once, its set hears of it, its target is
/// let go, and its end is told. The book also has the list of what the run is to do, because the
/// order of these actions is the order of the ends.
struct StepBook: ~Copyable {
    let plan: Plan
    let rules: RunRules
    private(set) var sharing: RequestSharing
    var accounts: StepAccounts
    var table = StepTable()
    /// Steps whose targets this run has, and other runs of the process may wait for.
    var claimed = PositionSet()
    /// Steps that hold something for their set; none of them is in the table (`SetFlow`).
    var held = PositionSet()
    /// How far the sets are that are promoted as a whole.
    var sets: SetProgress
    /// The cause that ends the run, or has ended it.
    private(set) var ending: RunEnding?
    private var actions: [RunAction] = []
    /// When the input came that is acted on.
    var now = RunMoment(elapsed: 0, time: Instant(seconds: 0))

    init(_ plan: Plan, rules: RunRules) {
        self.plan = plan
        self.rules = rules
        sharing = RequestSharing(plan)
        accounts = StepAccounts(plan)
        sets = SetProgress(plan)
        for position in sharing.leaders {
            accounts.expectTransfer(position, plan.steps.expectedBytes(at: position))
        }
    }

    /// Adds something that is to be done.
    mutating func act(_ action: RunAction) { actions.append(action) }

    /// Takes the actions to carry out, in order; the next ones use the memory of those before.
    mutating func takeActions(into taken: inout [RunAction]) {
        if !taken.isEmpty { taken.removeAll(keepingCapacity: true) }
        if !actions.isEmpty { swap(&taken, &actions) }
    }

    var isEnding: Bool { ending != nil }

    /// Whether a transfer may begin.
    func mayBegin(_ position: Int) -> Bool {
        !rules.isOffline || plan.beginsOffline(position, sets.sets)
    }

    /// Notes what ends the run.
    mutating func noteEnding(_ ending: RunEnding) { self.ending = self.ending ?? ending }
}

// MARK: Beginnings

extension StepBook {
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
    }

    /// Begins steps: their rows are read.
    mutating func begin(_ positions: some Sequence<Int>, _ purpose: (Step) -> StepWork.Purpose) {
        var wishes: [RowWish] = []
        for position in positions {
            let step = plan.steps[position]
            table.insert(StepWork(step, purpose(step)), at: position)
            wishes.append(RowWish(position: position, target: step.rowTarget))
        }
        if !wishes.isEmpty { act(.read(wishes)) }
    }

    /// The steps that wait for the request of another step; some may have ended without it.
    func waitingFollowers(of position: Int) -> [Int] {
        (sharing.followers[position] ?? []).filter { isWaiting($0) }
    }

    /// Whether a step waits for something that is not its own: its turn, a target, or a request.
    ///
    /// One that its set holds waits for nothing that could come to it.
    func isWaiting(_ position: Int) -> Bool {
        accounts.open.contains(position) && table[position] == nil && !held.contains(position)
    }

    /// Begins the steps that wait for the request of another step, whatever came of it.
    mutating func beginFollowers(
        of position: Int, _ purpose: (Step) -> StepWork.Purpose
    ) {
        begin(waitingFollowers(of: position), purpose)
    }

    /// Divides the steps that wait for a request which failed: those to be asked for, because they have
    /// sources that were not asked, or may begin offline where the leader may not; and those that share
    /// the failure. Of several with the same sources one is asked for, and the others wait for it.
    mutating func divide(
        _ followers: [Int], of leader: Int, after error: MirrorError
    ) -> (asking: [Int], sharing: [Int]) {
        if error.code.endsRun { return ([], followers) }
        let asked = Set(plan.resource(of: plan.steps[leader])?.sources ?? [])
        var leaders: [[Source]: Int] = [:]
        var (asking, sharingFailure): ([Int], [Int]) = ([], [])
        for follower in followers {
            let sources = plan.resource(of: plan.steps[follower])?.sources ?? []
            let hasOthers =
                error.code == .offline ? mayBegin(follower) : !sources.allSatisfy(asked.contains)
            if !hasOthers {
                sharingFailure.append(follower)
            } else if let first = leaders[sources] {
                sharing.follow(first, by: follower, insteadOf: leader)
            } else {
                leaders[sources] = follower
                sharing.follow(nil, by: follower, insteadOf: leader)
                asking.append(follower)
            }
        }
        return (asking, sharingFailure)
    }

    /// Gives the bytes of a step to those that waited for the same request.
    mutating func share(
        _ record: @autoclosure () -> IndexRecord, ofStep position: Int,
        as content: Landing.Content
    ) {
        let followers = waitingFollowers(of: position)
        if followers.isEmpty { return }
        let record = record()
        begin(followers) { _ in .sharesBytes(record, content) }
    }
}

// MARK: Ends

extension StepBook {
    /// Enters a step's good end.
    mutating func finish(
        _ position: Int, _ done: consuming Event.Done, isAcceptedStale: Bool = true
    ) {
        accounts.ledger.enter(done, isAcceptedStale: isAcceptedStale)
        if !sets.isEmpty { sets.note(done, isAcceptedStale: isAcceptedStale, at: position) }
        if done.outcome != .stale, done.outcome != .deferred {
            discardSupersededParts(of: done.target)
        }
        // An end that another run brought has that run's times.
        done.trace = table[position]?.trace
        act(.tell(.done(done)))
        close(position, .done(done), isPassedOn: true)
    }

    /// Enters the end of a step whose bytes have their final name, or failed to get it.
    mutating func finish(
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

    /// Ends a step, and those that wait for its request, as deferred.
    mutating func postpone(
        _ position: Int, _ deferral: Deferral, _ cost: TransferCost = TransferCost()
    ) {
        guard let work = table[position] else { return }
        var done = Event.Done(deferred: work, by: deferral)
        done.bytesReceived = cost.bytesReceived
        done.bytesReused = cost.bytesReused
        finish(position, done)
        beginFollowers(of: position) { _ in .deferred(deferral) }
    }

    /// Enters a step's failure, and ends the run where that was asked for or nothing else can work.
    mutating func fail(_ position: Int, _ error: MirrorError) {
        if error.code == .cancelled, isEnding { return breakOff(position) }
        let told = lose(position, error)
        close(position, .failed(told), isPassedOn: error.code != .cancelled)
    }

    /// Enters the failure of a step that may not have been opened: its file was to be kept.
    @discardableResult
    mutating func lose(_ position: Int, _ error: MirrorError) -> MirrorError {
        var failed = plan.failure(of: plan.steps[position], error)
        failed.trace = table[position]?.trace
        accounts.ledger.enter(failed)
        if sets.isEssential(position) { sets.note(.failed(failed.error), at: position) }
        tell(failed)
        return failed.error
    }

    /// Tells of a failure, which may end the run.
    private mutating func tell(_ failed: Event.Failed) {
        act(.tell(.failed(failed)))
        if failed.error.code.endsRun {
            noteEnding(.error(failed.error))
        } else if rules.stopsAtFirstFailure, !failed.isOptional {
            noteEnding(.firstFailure)
        }
    }

    /// Enters the end of a removal; what stayed is told, and an orphan is one still.
    mutating func depart(_ position: Int, _ error: MirrorError?) {
        let step = plan.steps[position]
        accounts.close(position)
        accounts.ledger.enterRemoval(of: step, succeeded: error == nil)
        if let error {
            tell(plan.failure(of: step, error))
        } else {
            act(.tell(.removed(.init(target: step.target, reason: step.reason, size: step.size))))
        }
    }

    /// Tells of an orphan that kept its set from being put in place; the set counts what it leaves.
    mutating func hinder(_ position: Int, _ error: MirrorError) {
        accounts.close(position)
        accounts.ledger.enterHindrance()
        tell(plan.failure(of: plan.steps[position], error))
    }

    /// Ends a step: nothing more comes of it. If only the end of this run left it undone, another
    /// run that wants the target does the step itself.
    private mutating func close(_ position: Int, _ end: StepEnd, isPassedOn: Bool) {
        accounts.close(position)
        if !sets.isEmpty { sets.close(position) }
        noteRoom(position, end)
        let work = table.remove(position)
        let hasFailed = if case .failed = end { true } else { false }
        accounts.endTransfer(
            position, work?.count ?? TransferCount(plan.steps.expectedBytes(at: position)),
            hasFailed: hasFailed, at: now.elapsed)
        letGo(position, isPassedOn || !isEnding ? end : .abandoned)
    }

    /// Lets the target of a step go that has ended, or that does not come in this run.
    ///
    /// A set takes its targets before its steps begin, so a step may have one that never began.
    mutating func letGo(_ position: Int, _ end: StepEnd = .abandoned) {
        guard claimed.remove(position) else { return }
        act(.release(position, plan.steps.target(at: position), end))
    }

    private mutating func noteRoom(_ position: Int, _ end: StepEnd) {
        guard plan.evictableFiles > 0 else { return }
        switch end {
        case .failed, .abandoned: break
        case .done(let done): if done.outcome != .deferred { return }
        }
        accounts.noteRoom(of: plan.steps[position])
    }

    /// Removes parts that a step's good end leaves without a use.
    mutating func discardSupersededParts(of target: Target) {
        if let names = plan.supersededParts[target] { act(.discard(parts: names)) }
    }

    /// Whether other people's bytes at a step's target stay, so that nothing may be fetched for it.
    func keepsConflict(_ position: Int) -> Bool {
        rules.onConflict == .keep && plan.steps[position].kind == .conflict
    }

    /// Whether a file that was not confirmed leaves the run successful.
    func acceptsStale(_ row: IndexRecord?) -> Bool {
        guard rules.acceptsStale else { return false }
        guard let longest = rules.longestStale, let row else { return true }
        return row.wasConfirmed(within: longest, of: now.time)
    }
}

// MARK: Steps that end only because the run does

extension StepBook {
    /// Ends steps, and those that share their requests, whose turn does not come in this run. They
    /// are counted and have no event each: a run of a million entries ends within a second too.
    mutating func leaveOut(_ positions: some Collection<Int>) {
        accounts.leaveOut(positions)
        if !sets.isEmpty { leaveOutOfSets(positions) }
        if !claimed.isEmpty {
            for position in positions { letGo(position) }
        }
        if sharing.followers.isEmpty { return }
        for position in positions {
            // One that asks itself, because its leader was cancelled, has its own end.
            for follower in waitingFollowers(of: position) {
                accounts.leaveOut(CollectionOfOne(follower))
                letGo(follower)
            }
        }
    }

    /// Notes that sets will not be complete, because these steps are not reached.
    private mutating func leaveOutOfSets(_ positions: some Collection<Int>) {
        for position in positions {
            for left in [position] + waitingFollowers(of: position) {
                if sets.isEssential(left) { sets.note(.ended, at: left) }
                sets.close(left)
            }
        }
    }

    /// Ends a step, and those that share its request: they are counted, and have no event.
    mutating func breakOff(_ position: Int) {
        accounts.enterUnfinished(position)
        leaveOut(CollectionOfOne(position))
        close(position, .abandoned, isPassedOn: false)
    }

    /// Ends a step whose set was left as it was: it is counted, and has no event.
    mutating func leaveUnfinished(_ position: Int) {
        accounts.enterUnfinished(position)
        close(position, .abandoned, isPassedOn: false)
    }

    /// Ends the removals that do not come in this run.
    mutating func leaveRemovals(_ positions: some Collection<Int>) {
        for position in positions {
            accounts.close(position)
            accounts.ledger.enterRemovalLeft(of: plan.steps[position])
        }
    }
}

extension Event.Done {
    /// The end of a step whose resource may not be fetched now.
    init(deferred work: StepWork, by deferral: Deferral) {
        self.init(
            target: work.step.target, step: work.step.kind, outcome: .deferred,
            reason: .deferred(deferral), verified: work.row?.verified ?? .none)
    }
}
