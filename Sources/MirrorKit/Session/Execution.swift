internal import MirrorModel
internal import Synchronization

/// A plan under way: hands steps to the loop and the promoter, and settles what comes back.
///
/// One thread of its own begins the steps, waits until the last has ended, and closes the run.
/// Results arrive on the thread of the news and on the promotion thread; each is settled there at once,
/// under one mutex for the numbers. What to do
/// with a result is decided by values of the model (`ArrivalVerdict`, `Ledger`); this class carries
/// it out.
final class Execution: Sendable {
    let identifier: String
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    let engine: Engine
    let requests: PreparedRequests
    let leases: FileLeases
    let sharing: RequestSharing
    private let emitEvent: @Sendable (Event) -> Void
    /// How many events wait for whoever reads them.
    let unread: @Sendable () -> Int
    let state: Mutex<ExecutionState>
    let settled: WakeSignal
    /// From where the deadline and the summary's seconds count.
    private let began: ContinuousClock.Instant
    private let startedAt = SystemClock.now()

    /// What ends a run before its end.
    enum Ending {
        /// Nothing more can be done, or a limit was reached.
        case error(MirrorError)
        /// Somebody asked for it; the exit code that follows.
        case interrupted(exit: Int32)
        /// A resource failed, and that was to end the run.
        case firstFailure
    }

    init(
        plan: Plan, options: RunOptions, configuration: Configuration, engine: Engine,
        requests: PreparedRequests,
        leases: FileLeases, emit: @escaping @Sendable (Event) -> Void,
        unread: @escaping @Sendable () -> Int
    ) throws(MirrorError) {
        do throws(Errno) { settled = try WakeSignal() } catch { throw MirrorError(error) }
        self.plan = plan
        self.options = options
        self.configuration = configuration
        self.engine = engine
        self.requests = requests
        self.leases = leases
        self.emitEvent = emit
        self.unread = unread
        began = options.began ?? .now
        identifier = RunIdentifier.make(now: SystemClock.now(), random: RandomBytes.make(10))
        sharing = RequestSharing(plan)
        let resources = plan.wantedSteps + plan.skipped
        state = Mutex(
            ExecutionState(
                ledger: Ledger(
                    resources: resources, skipped: plan.skipped, orphans: plan.orphansLeft,
                    root: plan.root)))
    }

    /// Carries the plan out; blocks the calling thread until the run is over. Gives its summary, which
    /// is told once everything of the run is put away.
    func run() -> Summary {
        emit(.plan(PlanTotals(of: plan)))
        do {
            try RunLimits(plan: plan, options: options, configuration: configuration)
                .check(engine.root)
            try noteRun(RunRecord(id: identifier, startedAt: startedAt))
            try forgetLostOrphans()
            begin()
            waitUntilSettled()
            if ending == nil {
                beginRemovals()
                waitUntilSettled()
            }
        } catch {
            // Nothing was begun: each resource was left out, and is counted as that.
            state.withLock { $0.ledger.enterLeftOut(plan.wantedSteps) }
            end(.error(MirrorError(wrapping: error)))
        }
        return close()
    }

    /// Ends the run early; what is under way keeps its part.
    func end(_ ending: Ending) {
        let isFirst = state.withLock { state in
            guard state.ending == nil else { return false }
            state.ending = ending
            return true
        }
        guard isFirst else { return }
        let (jobs, waiting) = state.withLock { state in
            let waiting = state.feed.takeAll() + state.joined
            state.joined = []
            return (state.jobs, waiting)
        }
        // First what is under way: to leave out a million steps takes a second.
        giveUp(Array(jobs.values))
        leaveOut(waiting)
        // Whoever waits for the run's end does not wait as long any more.
        settled.raise()
    }

    /// What ends the run early; nil when nothing does.
    var ending: Ending? { state.withLock { $0.ending } }

    /// The loop's number of the transfer for a target; nil when none is under way.
    func job(for target: Target) -> Int? {
        state.withLock { state in
            state.jobs.first { plan.steps.target(at: $0.key) == target }?.value
        }
    }

    /// The loop's numbers of all transfers under way.
    var jobs: [Int] { state.withLock { Array($0.jobs.values) } }

    /// Asks for no more bytes until `resume`; transfers that would begin wait too.
    func pause() {
        state.withLock { state in
            state.isPaused = true
            engine.pause(Array(state.jobs.values))
        }
    }

    /// Goes on asking for bytes.
    func resume() {
        state.withLock { state in
            state.isPaused = false
            submitHeld(&state)
            engine.resume(Array(state.jobs.values))
        }
    }

    /// Cancels transfers; those that were held back have to begin for that.
    func giveUp(_ jobs: [Int]) {
        state.withLock { submitHeld(&$0) }
        engine.cancel(jobs)
    }

    private func submitHeld(_ state: inout ExecutionState) {
        engine.submit(state.held)
        state.held = []
    }

    /// How the engine knows a step.
    func claimant(_ position: Int) -> Engine.Claimant {
        Engine.Claimant(run: identifier, position: position)
    }
}

// MARK: Waiting

extension Execution {
    /// Waits until the last open step has ended; a deadline ends them all.
    private func waitUntilSettled() {
        let isOpen = state.withLock { state in
            state.isWaiting = !state.open.isEmpty
            return state.isWaiting
        }
        guard isOpen else { return }
        engine.promoter.hurry()
        while state.withLock({ $0.isWaiting }) {
            let left = secondsLeft()
            if let grace = ending?.grace, abandon(after: grace) { return }
            let pause = ending == nil ? left ?? 3600 : 0.05
            settled.wait(milliseconds: Int32(min(max(pause, 0.001), 3600) * 1000))
            settled.clear()
        }
    }

    /// Seconds until the deadline, which ends the run; nil without one.
    @discardableResult
    func secondsLeft() -> Double? {
        let left = options.deadline.map { Double($0) - (ContinuousClock.now - began).inSeconds }
        if let left, left <= 0, ending == nil {
            end(.error(.deadlineIsOver(options.deadline, Summary())))
        }
        return left
    }

    /// After a signal or the deadline, a flush that takes its time is not waited for: what it promotes
    /// is settled by the next run, as after a crash. True when the wait is over.
    private func abandon(after grace: Duration) -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            let limit = state.graceEnd ?? now.advanced(by: grace)
            state.graceEnd = limit
            guard now >= limit else { return false }
            for position in plan.steps.indices {
                if !plan.steps.isRemoval(at: position) {
                    state.enterUnfinished(position)
                } else if state.open.remove(position) {
                    state.ledger.enterOrphansLeft(1)
                }
            }
            state.isWaiting = false
            engine.promoter.abandonAtStop()
            return true
        }
    }

    private func close() -> Summary {
        let parts = partsOfInterrupted()
        let summary = state.withLock { state in
            state.isClosed = true
            state.ledger.enterParts(parts)
            var error: MirrorError?
            var exit: Int32?
            switch state.ending {
            case .error(let cause) where cause.code == .deadline:
                error = .deadlineIsOver(options.deadline, state.ledger.summary)
            case .error(let cause): error = cause
            case .interrupted(let code):
                exit = code
                error = MirrorError(.cancelled, state.ledger.summary.interruption)
            case .firstFailure, nil: break
            }
            return state.ledger.closed(
                error: error, exit: exit, seconds: (ContinuousClock.now - began).inSeconds)
        }
        try? noteRun(
            RunRecord(
                id: identifier, startedAt: startedAt, endedAt: SystemClock.now(),
                exit: summary.exit,
                summary: summary.json))
        return summary
    }
}

// MARK: What all rooms of a run use

extension Execution {
    /// Writes the run's row; a run that finds nothing to do leaves the index as it is.
    private func noteRun(_ record: RunRecord) throws(MirrorError) {
        if !plan.isEmpty { try engine.index.put(record) }
    }
}

extension Execution {
    /// Sends an event; after the summary there is none.
    func emit(_ body: Event.Body) {
        if case .summary = body {} else if state.withLock({ $0.isClosed }) { return }
        emitEvent(event(body))
    }

    /// An event of this run, now.
    func event(_ body: Event.Body) -> Event {
        Event(run: identifier, time: SystemClock.now(), body: body)
    }

    /// Removes parts that a step's good end leaves without a use.
    func discardSupersededParts(of target: Target) {
        for name in plan.supersededParts[target] ?? [] {
            // A leftover costs room and nothing else: the next run tries again.
            try? engine.parts.discard(part: name)
        }
    }

    /// Enters a step's good end.
    func finish(_ position: Int, _ done: Event.Done, isAcceptedStale: Bool = true) {
        state.withLock { $0.ledger.enter(done, isAcceptedStale: isAcceptedStale) }
        if done.outcome != .stale { discardSupersededParts(of: plan.steps.target(at: position)) }
        emit(.done(done))
        close(position)
        release(position, .done(done), isPassedOn: true)
    }

    /// Enters a step's failure, and ends the run where that was asked for or nothing else can work.
    func fail(_ position: Int, _ error: MirrorError) {
        if error.code == .cancelled, ending != nil { return breakOff(position) }
        let failed = failure(of: position, error)
        state.withLock { $0.ledger.enter(failed) }
        tell(failed)
        close(position)
        release(position, .failed(failed.error), isPassedOn: error.code != .cancelled)
    }

    /// What is told of a step that failed.
    func failure(of position: Int, _ error: MirrorError) -> Event.Failed {
        let step = plan.steps[position]
        let resource = plan.resource(of: step)
        var error = error
        error.target = step.target
        return Event.Failed(
            target: step.target, step: step.kind, error: error,
            isOptional: resource?.isOptional ?? false,
            manifest: plan.manifests[step.manifest].owner, line: resource?.line ?? 0)
    }

    /// Tells of a failure, which may end the run.
    func tell(_ failed: Event.Failed) {
        emit(.failed(failed))
        if failed.error.code.endsRun {
            end(.error(failed.error))
        } else if options.stopsAtFirstFailure, !failed.isOptional {
            end(.firstFailure)
        }
    }

    /// Tells other runs that want the target; what only the end of this one left undone, they do
    /// themselves.
    func release(_ position: Int, _ end: Engine.End, isPassedOn: Bool) {
        engine.release(
            plan.steps.target(at: position), by: claimant(position),
            isPassedOn || ending == nil ? end : .abandoned)
    }

    /// Ends a step: nothing more comes of it.
    func close(_ position: Int) {
        let isLast = state.withLock { state in
            state.open.remove(position)
            return state.isDone()
        }
        if isLast { settled.raise() }
    }
}
