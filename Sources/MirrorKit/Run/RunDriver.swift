internal import Glibc

/// Drives a run: passes inputs to its state machine and performs the machine's actions.
///
/// Only one thread uses the driver at a time. The thread that calls `run` begins and ends the run.
/// The thread of transfers uses the driver while steps are under way. The driver makes no decision
/// about a step.
final class RunDriver: @unchecked Sendable {
    // Sendable, because only one thread at a time uses the driver. `RunRegister` passes the driver
    // to the thread of transfers under a mutex, and the semaphore passes the driver back.
    private let execution: Execution
    private let plan: Plan
    private let machine: RunMachine
    /// The instant from which the run's deadline and the summary's seconds count.
    private let began: ContinuousClock.Instant
    /// When the run began.
    private let startedAt: Instant
    /// When the driver last looked at the clock: before a turn, and after it read rows.
    ///
    /// So the inputs of one turn share a moment.
    private var moment: RunMoment
    /// The actions that are being performed; the array keeps its memory for the next ones.
    private var actions: [RunAction] = []
    /// Whether the machine may still have actions that the last turn did not perform.
    private var hasActionsLeft = false
    /// The number of the loop's turn in which the run last submitted transfers.
    private var begunAt = 0
    /// The events of transfers since the last turn, with the positions of their steps.
    private var news: [(position: Int, event: TransferEvent)] = []
    /// The events of transfers of this turn. `news` and `current` are swapped at each turn.
    private var current: [(position: Int, event: TransferEvent)] = []
    /// The engine of transfers. `nil` unless steps are under way.
    private var transfers: TransferEngine?
    private let stepsEnded = Semaphore()
    /// The number of waiting events at which they are sent at once.
    private static let mostEvents = 256
    /// The most milliseconds for which an event waits.
    private static let eventPatience: Int64 = 20
    /// Events that wait to be sent together, because each sending may wake their reader.
    private var events: [Event] = []
    /// When the first waiting event was made, in milliseconds of the run.
    private var eventsSince: Int64 = 0
    private var works: [PromotionWork] = []
    /// Whether the promoter must promote the works that it has, without waiting for more.
    private var hurries = false
    /// Promotions that wait for the readers of their files.
    private var promotions: PromotionQueue
    private var claims: StepClaims
    private var log: DecisionLog
    /// Says whether transfers may run. `nil` if they always may.
    private var permission: PermissionWatch?
    private var deferral: Deferral?
    /// Why the run could fetch only urgent resources when it began. `nil` if it could fetch all.
    ///
    /// The run fetches no others later either, because `prepare` checked no disk space for them.
    private var firstDeferral: Deferral?

    private var engine: Engine { execution.engine }

    init(_ execution: Execution) {
        self.execution = execution
        plan = execution.plan
        machine = RunMachine(
            plan, rules: RunRules(execution.options, execution.configuration))
        began = execution.options.began ?? .now
        startedAt = SystemClock.now()
        moment = RunMoment(elapsed: 0, time: startedAt)
        promotions = PromotionQueue(execution)
        claims = StepClaims(execution)
        log = DecisionLog(of: execution.identifier, plan, in: execution.engine.root)
        lookAtClock()
    }

    /// The number of the run in its engine.
    var number: Int { execution.number }

    /// Runs the plan to its end; blocks the calling thread.
    func run() -> (Summary, RunTotals) {
        claims.begin()
        defer { claims.end() }
        tell(.plan(PlanTotals(of: plan)))
        // `prepare` may take a while.
        sendEvents()
        do {
            permission = try PermissionWatch(execution.options.permission, engine.index) {
                [mailbox = execution.mailbox] in mailbox.post(.input(.tick))
            }
            try prepare()
            lookAtClock()
            take(.tick)
            if execution.options.reportsKept { passKept() }
            // If a caller paused or ended the run before it began, that input is in the mailbox.
            takeTurn()
            if plan.isEmpty { take(.ready) } else { try engine.carryOutSteps(of: self) }
        } catch {
            takeTurn()
            take(.refused(MirrorError(wrapping: error)))
        }
        while machine.awaitsLook {
            // Kept files have no events here. Only the summary reports kept files that changed,
            // perhaps hours after the scan.
            if execution.isLookOld { passKept() }
            take(.lookedAtKept(.max))
        }
        return (close(), machine.totals)
    }

    /// Reports to the machine whether transfers may run, when that changes.
    private func askPermission() {
        guard let permission, !machine.isOver else { return }
        let now = permission.deferral(at: moment) ?? firstDeferral
        guard now != deferral else { return }
        deferral = now
        take(.permission(now))
    }

    private func prepare() throws {
        let options = execution.options
        firstDeferral = permission?.deferral(at: moment)
        var limits = RunLimits(execution, deferral: firstDeferral)
        if try limits.needsEvictions(in: engine.root) { take(.roomIsShort) }
        try claims.prepare()
        try note(RunRecord(id: execution.identifier, startedAt: startedAt))
        try engine.index.setOwners(plan.released)
        try engine.index.note(evicted: plan.newlyEvicted, readmitted: plan.readmitted)
        if !plan.forgotten.isEmpty { try engine.index.removeRecords(plan.forgotten) }
    }

    /// Sends events for resources that are kept as they are, no faster than the reader reads them.
    ///
    /// Looks at each file again if the plan's look is too old (`isLookOld`).
    private func passKept() {
        let isTold = execution.options.reportsKept
        var report = KeptReport(plan, engine)
        while !machine.isEnding {
            report.looks = report.looks || execution.isLookOld
            for _ in 0..<KeptReport.together {
                switch report.next() {
                case .kept(let done): if isTold { tell(.done(done)) }
                case .changed(let position, let error): take(.changed(position, error))
                case nil: return
                }
            }
            sendEvents()
            takeTurn()
            while execution.control.events.unread >= KeptReport.mostUnread, !machine.isEnding {
                usleep(5000)
                takeTurn()
            }
        }
        if report.looks { take(.lookedAtKept(report.count)) }
    }

    private func close() -> Summary {
        lookAtClock()
        sendEvents()
        submitWorks()
        for case .isFree(_, let target) in execution.mailbox.close() { promotions.giveBack(target) }
        permission?.close(at: moment)
        let interrupted = machine.interrupted
        for target in interrupted { log.note(interrupted: target) }
        log.close()
        let parts = interrupted.map { target in
            // If the rows of parts cannot be read, no kept bytes are promised.
            (try? engine.index.parts(for: target))?.map(\.resumableBytes).max() ?? 0
        }
        let summary = machine.close(parts: parts, at: moment.elapsed)
        try? note(
            RunRecord(
                id: execution.identifier, startedAt: startedAt, endedAt: SystemClock.now(),
                exit: summary.exit, summary: summary.json))
        return summary
    }

    /// Writes the run's row. A run with an empty plan leaves the index as it is.
    private func note(_ record: RunRecord) throws(MirrorError) {
        if !plan.isEmpty { try engine.index.put(record) }
    }
}

// MARK: On the thread of transfers

extension RunDriver {
    /// Begins the steps; called on the thread of transfers.
    func beginSteps(on engine: TransferEngine) {
        transfers = engine
        execution.mailbox.setSignal(engine.surroundings.inbox.signal)
        lookAtClock()
        askPermission()
        take(.ready)
        sendEvents()
        submitWorks()
    }

    /// Stores an event of a step's transfer until the next turn.
    func note(_ event: TransferEvent, of position: Int) { news.append((position, event)) }

    /// Whether no step is under way or will be.
    var hasEndedSteps: Bool { !hasActionsLeft && (machine.isOver || machine.awaitsLook) }

    /// Milliseconds until the run needs a turn. `nil` means that only a message can cause a turn.
    var timeToWait: Int64? {
        if hasActionsLeft || !news.isEmpty { return 0 }
        var wait = min(machine.wait ?? .max, permission?.wait(at: moment) ?? .max)
        if !events.isEmpty {
            wait = min(wait, eventsSince + Self.eventPatience - moment.elapsed)
        }
        return wait == .max ? nil : max(0, wait - (elapsed - moment.elapsed))
    }

    /// Whether the run submitted transfers in this turn of the loop, so that none has started yet.
    private var hasJustBegunTransfers: Bool { hasActionsLeft && transfers?.iterations == begunAt }

    /// Wakes the thread that waits for the end of the run's steps. That thread then uses the
    /// driver.
    func endSteps() {
        sendEvents()
        execution.mailbox.setSignal(nil)
        transfers = nil
        stepsEnded.post()
    }

    /// Waits for `endSteps`.
    func waitUntilStepsEnded() { stepsEnded.wait() }
}

// MARK: Events and promotions

extension RunDriver {
    private func lookAtClock() {
        moment = RunMoment(elapsed: elapsed, time: SystemClock.now())
    }

    /// Milliseconds since `began`.
    private var elapsed: Int64 { Int64((ContinuousClock.now - began) / .milliseconds(1)) }

    private func submit(_ task: PromotionWork.Task, _ number: Int) {
        works.append(PromotionWork(task: task, number: number, receiver: execution))
    }

    /// Submits the works of a turn to the promoter.
    private func submitWorks() {
        if !works.isEmpty { engine.promoter.submit(works) }
        works.removeAll(keepingCapacity: true)
        if hurries { engine.promoter.hurry() }
        hurries = false
    }

    private func sendEvents() { execution.control.send(contentsOf: &events) }
}

// MARK: Messages

extension RunDriver {
    /// Handles all messages and all events of transfers since the last turn.
    func takeTurn() {
        let messages = execution.mailbox.take()
        let isDue = timeToWait == 0
        if messages.isEmpty, news.isEmpty, hasJustBegunTransfers { return }
        guard isDue || !messages.isEmpty else { return }
        hasActionsLeft = false
        lookAtClock()
        // The actions below may cause further events. These events wait for the next turn.
        swap(&news, &current)
        for at in current.indices {
            // A body in memory is freed as soon as its event has been processed.
            var event = TransferEvent.verifying(bytes: 0)
            swap(&event, &current[at].event)
            take(.transfer(current[at].position, event))
        }
        current.removeAll(keepingCapacity: true)
        for message in messages { take(message) }
        take(.tick)
        askPermission()
        submitWorks()
        if moment.elapsed >= eventsSince + Self.eventPatience { sendEvents() }
    }

    private func take(_ message: RunMessage) {
        switch message {
        case .input(let input): take(input)
        case .promoted(let ends): for end in ends { take(RunInput(end)) }
        case .isFree(let number, let target):
            let waiting = promotions.take(number, target, isOver: machine.isOver)
            if let (work, attempts) = waiting { promote(work, holding: target, attempts: attempts) }
        }
    }

    private func take(_ input: RunInput) {
        machine.take(input, at: moment)
        repeat {
            machine.takeActions(into: &actions)
            for action in actions { perform(action) }
            // If transfers begin, their connections are opened before the next turn prepares more.
            let begins = actions.contains { if case .submit = $0 { true } else { false } }
            hasActionsLeft = begins
            if begins { begunAt = transfers?.iterations ?? 0 }
        } while !actions.isEmpty && !hasActionsLeft
    }

    private func tell(_ body: Event.Body) {
        log.note(body)
        // The queue may have taken the array's storage, so the array gets new storage.
        if events.isEmpty {
            events.reserveCapacity(Self.mostEvents)
            eventsSince = moment.elapsed
        }
        events.append(execution.event(body, at: moment.time, totals: machine.totals))
        if events.count >= Self.mostEvents { sendEvents() }
    }
}

extension RunInput {
    /// The input that reports the end of a promotion.
    fileprivate init(_ end: PromotionEnd) {
        switch end.result {
        case .promoted(_, let result): self = .promoted(end.number, result)
        case .confirmed: self = .confirmed(end.number, nil)
        case .notConfirmed(let error): self = .confirmed(end.number, error)
        case .removed(let error): self = .removed(end.number, error)
        case .set(let set, let result): self = .setEnded(set.number, result)
        }
    }
}

// MARK: Actions

extension RunDriver {
    private func perform(_ action: RunAction) {
        switch action {
        case .tell(let body): tell(body)
        case .read(let wishes): read(wishes, RunInput.found)
        case .claim(let wishes): claim(wishes)
        case .claimSet(let number, let positions): claim(number, positions)
        case .submit(let submissions):
            for submission in submissions {
                transfers?.submit(
                    execution.download(for: submission, spending: permission?.allowance))
            }
        case .name(let position, let body):
            let target = Result { () throws(MirrorError) in try claims.name(position, body) }
            machine.take(.named(position, body, target), at: moment)
        case .promote(let position, let promotion):
            promote(.file(promotion, position))
        case .promoteSet(let set): promote(.set(set))
        case .confirm(let position, let confirmed): submit(.confirm(confirmed), position)
        case .look(let position, let target, let stamp):
            var files = StatCursor(engine.root)
            machine.take(.confirmed(position, files.change(of: target, since: stamp)), at: moment)
        case .remove(let position, let removal): remove(position, removal)
        case .hurry: hurries = true
        case .discard(let parts):
            // A part that stays only takes up disk space, and the next run tries again.
            for name in parts { try? engine.parts.discard(part: name) }
        case .release(let position, let target, let end): claims.release(position, target, end)
        case .pause(let positions): for at in positions { transfers?.pause(download(at: at)) }
        case .resume(let positions): for at in positions { transfers?.resume(download(at: at)) }
        case .cancel(let positions, let discarding):
            transfers?.cancel(positions.map(download), discardingPart: discarding)
        case .abandonPromotions: engine.promoter.abandonAtStop()
        }
    }

    /// Removes a file, unless a reader has it. Then the file stays, and the next run removes it.
    private func remove(_ position: Int, _ removal: Removal) {
        guard execution.leases.acquireExclusiveIfFree(removal.target) else {
            return machine.take(.removed(position, .inUse(removal.target)), at: moment)
        }
        submit(.remove(removal), position)
    }

    /// Promotes a file or a set once it has no reader. Fails if a file is in use all the time.
    private func promote(
        _ work: PromotionQueue.Work, holding held: Target? = nil, attempts: Int = 0
    ) {
        switch (promotions.turn(of: work, holding: held, attempts: attempts), work) {
        case (.begins, .file(let promotion, let position)): submit(.promote(promotion), position)
        case (.begins, .set(let set)): submit(.promoteSet(set), set.number)
        case (.waits, _): break
        case (.neverComes(let error), .file(_, let position)):
            machine.take(.promoted(position, .failed(error)), at: moment)
        case (.neverComes(let error), .set(let set)):
            machine.take(.setEnded(set.number, set.left(because: error)), at: moment)
        }
    }

    /// Reads rows. `input` makes the machine's input of them.
    private func read(_ wishes: [RowWish], _ input: ([KnownRow]) -> RunInput) {
        do throws(MirrorError) {
            let rows = try claims.rows(wishes)
            lookAtClock()
            machine.take(input(rows), at: moment)
        } catch {
            machine.take(.unreadable(wishes.map(\.position), error), at: moment)
        }
    }

    private func claim(_ wishes: [RowWish]) {
        // The run would never release a claim that it takes after its end.
        if machine.isOver { return }
        let answer = claims.claim(wishes)
        for (position, cause) in answer.blocked {
            machine.take(.unreadable([position], cause), at: moment)
        }
        if !answer.planned.isEmpty {
            lookAtClock()
            machine.take(.claimed(answer.planned), at: moment)
        }
        if !answer.unread.isEmpty { read(answer.unread, RunInput.claimed) }
        if !answer.occupied.isEmpty { machine.take(.occupied(answer.occupied), at: moment) }
    }

    /// Claims all targets of a set, or none if another run has one of them.
    private func claim(_ number: Int, _ positions: [Int]) {
        if machine.isOver { return }
        let occupied = claims.claimTogether(positions)
        machine.take(
            occupied.isEmpty ? .setClaimed(number, positions) : .setOccupied(number, occupied),
            at: moment)
        let targets = occupied.map { plan.steps.target(at: $0) }
        let held = execution.leases.first(of: targets, under: execution.heldByCaller)
        guard let held else { return }
        machine.take(.end(.error(.heldByCaller(held)), discardingParts: false), at: moment)
    }

    /// The id of a step's download.
    private func download(at position: Int) -> Int {
        RunRegister.id(of: execution.number, position: position)
    }
}

/// A message to a run from another thread.
enum RunMessage: Sendable {
    /// An input for the run's state machine.
    case input(RunInput)
    /// The results of promotions, confirmations and removals.
    case promoted([PromotionEnd])
    /// A file has no reader any more, and the run has it exclusively.
    ///
    /// The number selects the work in the `PromotionQueue` that waits for this file.
    case isFree(Int, Target)
}
