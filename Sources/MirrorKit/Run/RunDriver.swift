internal import Glibc

/// Drives a run: passes inputs to its state machine, and does what the machine asks for.
///
/// Only one thread uses the driver at a time. The thread that calls `run` begins and ends the run.
/// The thread of transfers uses the driver while steps are under way. The driver makes no decision
/// about a step.
final class RunDriver: @unchecked Sendable {
    // Sendable, because only one thread at a time uses the driver. `RunRegister` passes the driver
    // to the thread of transfers under a mutex, and the semaphore passes the driver back.
    private let execution: Execution
    private let plan: Plan
    private lazy var machine = RunMachine(
        plan, rules: RunRules(execution.options, execution.configuration), in: self)
    /// The instant from which the run's deadline and the summary's seconds count.
    private let began: ContinuousClock.Instant
    /// When the run began.
    private let startedAt: Instant
    /// When the driver last looked at the clock. The inputs of one turn share a moment.
    private var moment: RunMoment
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
    /// The mark of the state of the index in which the plan's rows are right.
    ///
    /// `nil` means that they were not right when the run began.
    private var rowsMark: Int?
    /// The names that no server may choose.
    private var givenPaths: Set<String> = []
    private var log: DecisionLog
    /// Puts fetched files into a store. `nil` if none gets them.
    private let push: StorePush?
    /// Says whether transfers may run. `nil` if they always may.
    private var permission: PermissionWatch?
    private var deferral: Deferral?
    /// What the quota of Caches has left for files of unknown size. `nil` means no quota.
    private var quotaRoom: QuotaRoom?
    /// Files without room, whose sizes the index remembers; those that got room are forgotten.
    private var learned: [(target: Target, size: Int64)] = []
    private var unlearned: [Target] = []
    private var newlyEvicted: [EvictedFile] = []
    /// How many files were put into a store, and how many could not be.
    private var (pushed, unpushed) = (0, 0)
    /// Why the run could fetch only urgent resources when it began. `nil` if it could fetch all.
    ///
    /// The run fetches no others later either, because `prepare` checked no disk space for them.
    private var firstDeferral: Deferral?

    private var engine: Engine { execution.engine }

    init(_ execution: Execution) {
        self.execution = execution
        plan = execution.plan
        began = execution.options.began ?? .now
        startedAt = SystemClock.now()
        moment = RunMoment(elapsed: 0, time: startedAt)
        log = DecisionLog(of: execution.identifier, plan, in: execution.engine.root)
        quotaRoom = plan.quotaRoom
        push =
            execution.options.offline
            ? nil : StorePush(execution.configuration, root: execution.engine.root)
        lookAtClock()
    }

    /// The number of the run in its engine.
    var number: Int { execution.number }

    /// Runs the plan to its end; blocks the calling thread.
    func run() -> (Summary, RunTotals) {
        rowsMark = engine.index.rows.beginRun(since: plan.rowsMark)
        defer { engine.index.rows.endRun() }
        tell(.plan(PlanTotals(of: plan)), machine.totals)
        for warning in plan.warnings { tell(.warning(warning), machine.totals) }
        // `prepare` may take a while.
        sendEvents()
        do {
            permission = try PermissionWatch(execution.options.permission, engine.index) {
                [mailbox = execution.mailbox] in mailbox.post(.inputs([.tick]))
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
        if let push { finish(push) }
        return (close(), machine.totals)
    }

    /// Waits for the files that are being put into a store, until the run is to end.
    private func finish(_ push: StorePush) {
        let total = push.left
        if total > 0 { execution.meter?.begin(.pushing, total: total) }
        var left = total
        while push.left > 0 {
            lookAtClock()
            let isLate = execution.options.deadline.map {
                moment.elapsed >= $0.wholeSeconds * 1000
            }
            let messages = execution.mailbox.take()
            // A message may be about files that are locked for this run, and must be unlocked.
            for message in messages { take(message) }
            if machine.isEnding || isLate == true || messages.contains(where: \.endsRun) {
                push.cancel()
                break
            }
            usleep(10_000)
            let now = push.left
            execution.meter?.add(files: left - now)
            left = now
        }
        (pushed, unpushed) = push.finish()
        execution.meter?.end()
        for warning in push.takeWarnings() { tell(.warning(warning), machine.totals) }
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
        firstDeferral = permission?.deferral(at: moment)
        let limits = RunLimits(execution, deferral: firstDeferral)
        let (shortages, needsEvictions) = try limits.check(in: engine.root)
        if !shortages.isEmpty { take(.withoutRoom(shortages)) }
        if needsEvictions { take(.roomIsShort) }
        givenPaths = try readGivenPaths()
        try note(RunRecord(id: execution.identifier, startedAt: startedAt))
        try engine.index.setOwners(plan.released)
        // A run that fetches nothing brings no evicted file back.
        let fetches = !plan.isOnlyRemovals && !execution.options.offline
        try engine.index.note(
            evicted: plan.newlyEvicted, readmitted: fetches ? plan.readmitted : [])
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
                case .kept(let done): if isTold { tell(.done(done), machine.totals) }
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
        for case .isLocked(let work, nil) in execution.mailbox.close() {
            engine.locks.unlock(work.lockedTargets)
        }
        permission?.close(at: moment)
        // Without these rows the next plan asks again, and learns the sizes again.
        try? engine.index.note(learned: learned, unlearned: unlearned)
        try? engine.index.note(evicted: newlyEvicted, readmitted: [])
        let interrupted = machine.interrupted
        for target in interrupted { log.note(interrupted: target) }
        log.close()
        let parts = interrupted.map { target in
            // If the rows of parts cannot be read, no kept bytes are promised.
            (try? engine.index.parts(for: target))?.map(\.resumableBytes).max() ?? 0
        }
        var summary = machine.close(parts: parts, at: moment.elapsed)
        (summary.pushed, summary.unpushed) = (pushed, unpushed)
        summary.shard = engine.root.shard.name
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
    func note(_ event: TransferEvent, of position: Int) {
        news.append((position, event))
        guard quotaRoom != nil, case .ended(let result) = event else { return }
        if case .received = result { return }
        quotaRoom?.giveBack(position)
    }

    /// Whether no step is under way or will be.
    var hasEndedSteps: Bool { machine.isOver || machine.awaitsLook }

    /// Milliseconds until the run needs a turn. `nil` means that only a message can cause a turn.
    var timeToWait: Int64? {
        if !news.isEmpty { return 0 }
        var wait = min(machine.wait ?? .max, permission?.wait(at: moment) ?? .max)
        if !events.isEmpty {
            wait = min(wait, eventsSince + Self.eventPatience - moment.elapsed)
        }
        return wait == .max ? nil : max(0, wait - (elapsed - moment.elapsed))
    }

    /// Whether the run submitted transfers in this turn of the loop, so that none has started yet.
    private var hasJustBegunTransfers: Bool { transfers?.iterations == begunAt }

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
        lookAtClock()
        // The inputs below may cause further events. These events wait for the next turn.
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
        case .inputs(let inputs): for input in inputs { take(input) }
        case .isLocked(let work, nil):
            if machine.isOver {
                engine.locks.unlock(work.lockedTargets)
            } else {
                works.append(work)
            }
        case .isLocked(let work, let error?):
            if let set = work.set {
                take(.setEnded(set.number, set.left(because: error)))
            } else {
                take(work.failed(error))
            }
        }
    }

    private func take(_ input: RunInput) { machine.take(input, at: moment) }
}

/// A message to a run from another thread.
enum RunMessage: Sendable {
    /// Inputs for the run's state machine.
    case inputs([RunInput])
    /// The files of a work are locked now, or an error keeps them from being locked.
    case isLocked(PromotionWork, MirrorError?)

    /// Whether the message asks for the run's end.
    var endsRun: Bool {
        guard case .inputs(let inputs) = self else { return false }
        return inputs.contains { if case .end = $0 { true } else { false } }
    }
}

// MARK: What the run asks for

extension RunDriver: RunSurroundings {
    func tell(_ body: Event.Body, _ totals: RunTotals) {
        log.note(body, at: moment.elapsed)
        if case .done(let done) = body {
            learn(from: done)
            push?.add(done)
        }
        // The queue may have taken the array's storage, so the array gets new storage.
        if events.isEmpty {
            events.reserveCapacity(Self.mostEvents)
            eventsSince = moment.elapsed
        }
        events.append(execution.event(body, at: moment.time, totals: totals))
        if events.count >= Self.mostEvents { sendEvents() }
    }

    var hasPlannedRows: Bool { engine.index.rows.areThose(of: rowsMark) }

    func rows(of targets: [Target]) throws(MirrorError) -> [IndexRecord?] {
        try engine.index.records(for: targets)
    }

    func change(of target: Target, since stamp: FileStamp) -> MirrorError? {
        var files = StatCursor(engine.root)
        return files.change(of: target, since: stamp)
    }

    func discard(parts: [String]) {
        // A part that stays only takes up disk space, and the next run tries again.
        for name in parts { try? engine.parts.discard(part: name) }
    }

    func claim(_ positions: [Int]) throws(MirrorError) -> [Int] {
        let wanted = positions.map { (target: plan.steps.target(at: $0), step: id(of: $0)) }
        for set in engine.unfinished where wanted.contains(where: { set.contains($0.target) }) {
            throw set.cause
        }
        let occupied = engine.locks.claim(wanted, waiting: execution.mailbox)
        let targets = occupied.map { plan.steps.target(at: $0) }
        if let held = engine.locks.first(of: targets, under: execution.heldByCaller) {
            throw .heldByCaller(held)
        }
        return occupied
    }

    func release(_ position: Int, _ end: Result<Event.Done, MirrorError>?) {
        engine.locks.release(plan.steps.target(at: position), by: id(of: position), end)
    }

    /// The id of a step's download, and of its claims.
    private func id(of position: Int) -> Int { RunRegister.id(of: number, position: position) }
}

// MARK: Transfers and promotions

extension RunDriver {
    func lackOfRoom(forFileOf size: Int64, at position: Int) -> Reason? {
        guard let quota = quotaRoom?.quota, plan.steps.target(at: position).area == .caches
        else { return nil }
        let step = plan.steps[position]
        let counted = step.size ?? step.seen?.size ?? 0
        let fits = quotaRoom?.take(size, counted: counted, for: position) ?? true
        return fits ? nil : .overQuota(of: quota, size: size)
    }

    /// Notes the size of a file that found no room, for the next plan.
    private func learn(from done: Event.Done) {
        switch done.reason {
        case .noRoom(let shortage):
            // A size that the manifest declares needs no memory.
            guard let size = shortage.size,
                let position = plan.steps.position(of: done.target),
                plan.resource(of: plan.steps[position])?.size == nil
            else { return }
            learned.append((done.target, size))
        case .overQuota(_, let size?) where done.step != .evicted:
            newlyEvicted.append(
                EvictedFile(target: done.target, size: size, lastUse: moment.time))
        default:
            // The size of a file that was not asked for stays of use.
            if !plan.learned.isEmpty, ![.deferred, .stale].contains(done.outcome),
                plan.learned.contains(done.target)
            {
                unlearned.append(done.target)
            }
        }
    }

    func submit(
        _ number: Int, _ step: Step, with others: [Int], storedMediaType: String?, keepsPart: Bool,
        isUrgent: Bool
    ) {
        guard let transfers else { return }
        begunAt = transfers.iterations
        transfers.submit(
            execution.download(
                number, for: step, with: others, storedMediaType: storedMediaType,
                keepsPart: keepsPart, isUrgent: isUrgent, spending: permission?.allowance))
    }

    func pause(_ numbers: [Int]) { for number in numbers { transfers?.pause(id(of: number)) } }

    func resume(_ numbers: [Int]) { for number in numbers { transfers?.resume(id(of: number)) } }

    func cancel(_ numbers: [Int], discardingParts: Bool) {
        transfers?.cancel(numbers.map(id), discardingPart: discardingParts)
    }

    func promote(_ position: Int, _ promotion: Promotion) { lock(.promote(promotion), position) }

    func promote(_ set: SetContents) { lock(.promoteSet(set), set.number) }

    func confirm(_ position: Int, _ confirmed: Confirmed) {
        works.append(
            PromotionWork(task: .confirm(confirmed), number: position, receiver: execution))
    }

    /// Removes a file, unless a reader has it. Then the file stays, and the next run removes it.
    func remove(_ position: Int, _ removal: Removal) {
        if engine.locks.lockIfFree(removal.target) {
            works.append(
                PromotionWork(task: .remove(removal), number: position, receiver: execution))
        } else {
            execution.steer(.removed(position, .inUse(removal.target)))
        }
    }

    func hurry() { hurries = true }

    func abandonPromotions() { engine.promoter.abandonAtStop() }

    /// Submits a promotion once its files have no reader. It fails if they are in use all the time.
    private func lock(_ task: PromotionWork.Task, _ number: Int) {
        let work = PromotionWork(task: task, number: number, receiver: execution)
        let (locks, mailbox, targets) = (engine.locks, execution.mailbox, work.lockedTargets)
        // The run's caller may read one of the files, and does not release it while it waits for
        // the run.
        if let read = locks.first(of: targets, under: execution.heldByCaller) {
            mailbox.post(.isLocked(work, .heldByCaller(read)))
            return
        }
        let isLocked = locks.lock(targets) { error in
            if !mailbox.post(.isLocked(work, error)), error == nil { locks.unlock(targets) }
        }
        if isLocked { works.append(work) }
    }
}

// MARK: Names that servers choose

extension RunDriver {
    /// Returns the folded paths of all targets of the run's manifests, and of the folders above.
    ///
    /// Returns an empty set if no server chooses a name. No server may choose one of these paths
    /// for another resource, even if no file is there. Otherwise two resources of the next plan
    /// would have one target, and that plan would be refused.
    private func readGivenPaths() throws(MirrorError) -> Set<String> {
        let isNeeded = plan.steps.notable.contains { position in
            guard let (manifest, at) = plan.steps.request(at: position) else { return false }
            return plan.manifests[manifest].resources.isNamedByServer(at: at)
        }
        if !isNeeded { return [] }
        var paths: Set<String> = []
        for manifest in plan.manifests {
            for at in manifest.resources.indices {
                var target: Target? = manifest.resources.target(at: at)
                if manifest.resources.isNamedByServer(at: at) {
                    // The name that a server chose in an earlier run.
                    target = try engine.index.serverName(
                        of: manifest.serverNameKey(of: manifest.resources[at]))
                }
                guard var path = target?.path[...] else { continue }
                while paths.insert(CaseFolding.fold(String(path))).inserted,
                    let slash = path.lastIndex(of: "/")
                {
                    path = path[..<slash]
                }
            }
        }
        return paths
    }

    /// A remembered name takes precedence over what the server suggests now. The index remembers a
    /// new name when the file is there (`fixServerName`). Until then only the claim reserves the
    /// name for this step.
    func name(_ body: ReceivedBody, of position: Int) throws(MirrorError) -> Target {
        let step = plan.steps[position]
        if let key = plan.serverNameKey(of: step),
            let remembered = try engine.index.serverName(of: key)
        {
            try reserve(remembered, for: position, step)
            return remembered
        }
        let target = try plan.targetNamed(by: body, for: step)
        if target != step.target, givenPaths.contains(CaseFolding.fold(target.path)) {
            throw MirrorError(taken: target, for: step.target)
        }
        try reserve(target, for: position, step)
        return target
    }

    /// Claims a target that a server named. Throws `nameTaken` if a step or a file has the target.
    private func reserve(
        _ target: Target, for position: Int, _ step: Step
    ) throws(MirrorError) {
        if target == step.target { return }
        var scan = StatCursor(engine.root)
        guard engine.locks.claim(named: target, by: id(of: position)),
            try scan.look(at: target) == .absent
        else { throw MirrorError(taken: target, for: step.target) }
    }
}

extension MirrorError {
    /// The failure of a resource whose server chose a name that is not free.
    fileprivate init(taken target: Target, for provisional: Target) {
        self.init(
            .nameTaken,
            "\(target): the server suggests this name for the resource in \(provisional.folder)/, and it is taken. Give the resource a path with a name.",
            target: provisional)
    }
}
