/// Runs a plan as a state machine: inputs say what happened, the surroundings do what follows.
///
/// One thread drives the machine and gives each input with its time. When there is nothing more to
/// do, it sleeps for `wait`.
///
/// Steps that need no server come first, because transfers may replace the files that they read.
/// Transfers follow, as many as the window allows. Removals come last, when all else has ended. But
/// evictions come before the transfers if these need the room.
///
///     ready ─ rows ─ promote, confirm ─► promoted, confirmed ─ tell
///           ─ claim, rows, submit ─► transfer … ─ promote, confirm ─► … ─ tell, release
///           ─ remove ─► removed ─ tell
///
/// Every step for a wanted target ends once: done, failed, interrupted or left out.
final class RunMachine {
    private(set) var steps: StepFlow
    /// The steps of this phase that have not begun.
    private var queue = StepQueue()
    private var phase = Phase.waiting
    /// How many removals the disk has not finished.
    private var removing = 0
    /// Whether the transfers find room on the disk only after the plan's evictions.
    private var evictsFirst = false
    /// The cause of an early end. `nil` means that nothing has ended the run early.
    private var ending: RunEnding?
    /// Milliseconds after which the run ends. `nil` means no limit.
    private let deadline: Int64?
    /// The time, in milliseconds of the run, until which it waits for work under way.
    ///
    /// `nil` means that it waits without a limit.
    private var graceEnd: Int64?
    /// How many files that the plan keeps were found changed or gone before the run began.
    private var changed = 0
    /// How many files that the plan keeps were looked at. `nil` means all of them.
    private var lookedAt: Int?
    /// Whether the run has yet to leave out the steps that wait, after it ended the running ones.
    private var hasToLeaveOut = false

    private enum Phase { case waiting, local, evicting, transferring, removing, looking, over }

    /// Makes a run that waits for `ready`.
    init(_ plan: Plan, rules: RunRules, in surroundings: any RunSurroundings) {
        steps = StepFlow(plan, rules: rules, in: surroundings)
        deadline = rules.deadline.map { $0 > .max / 1000 ? .max : $0 * 1000 }
    }

    var plan: Plan { steps.book.plan }
    private var surroundings: any RunSurroundings { steps.book.surroundings }
    private var now: Int64 { steps.book.now.elapsed }

    /// Whether the last step has ended.
    var isOver: Bool { phase == .over }

    /// Whether all steps have ended, and the run waits for a look at the files that the plan keeps.
    var awaitsLook: Bool { phase == .looking }

    /// Whether the run has left the phase of the steps that need no server.
    var hasBegun: Bool { phase != .waiting && phase != .local }

    /// Whether a cause ended the run early.
    var isEnding: Bool { steps.book.isEnding }

    /// The run's bytes and transfers so far, and those that are left.
    var totals: RunTotals { steps.book.accounts.meter.totals(at: now) }

    /// Handles one input.
    func take(_ input: RunInput, at moment: RunMoment) {
        steps.book.now = moment
        guard !isOver else { return }
        if hasToLeaveOut { leaveOutWhatWaits() }
        switch input {
        case .ready: begin()
        case .roomIsShort: evictsFirst = true
        case .withoutRoom(let shortages): steps.book.withoutRoom = shortages
        case .changed(let position, let error):
            if phase == .waiting {
                changed += 1
            } else {
                steps.book.accounts.counts.enterKept(-1)
            }
            steps.book.lose(position, error)
        case .lookedAtKept(let count):
            if phase == .looking { phase = .over } else { lookedAt = count }
        case .refused(let error): refuse(error)
        case .tick: break
        case .end(let ending, let discarding): end(ending, discardingParts: discarding)
        case .removed(let position, let error): removed(position, error)
        case .joined, .transfer, .promoted, .confirmed, .setEnded, .pause, .resume, .cancel,
            .permission, .putAside:
            steps.take(input)
        }
        if isDeadlineOver {
            end(.error(.deadlineIsOver(steps.book.rules.deadline, Summary())))
        }
        // Advancing can bring a failure that ends the run, which changes how to advance.
        repeat {
            if let ending = steps.book.ending { end(ending) }
            advance()
        } while isEnding && ending == nil
    }

    /// The targets of steps that had begun and were not finished when the run ended early.
    var interrupted: [Target] {
        steps.book.accounts.interrupted.map { plan.steps.target(at: $0) }
    }

    /// Returns the run's totals once the run is over.
    ///
    /// - Parameter parts: how many bytes of each interrupted transfer's part a later run can use.
    func close(parts: [Int64], at elapsed: Int64) -> Summary {
        steps.book.accounts.counts.enterParts(parts)
        let counts = steps.book.accounts.counts
        var error: MirrorError?
        var exit: Int32?
        switch ending {
        case .error(let cause) where cause.code == .deadline:
            error = .deadlineIsOver(steps.book.rules.deadline, counts.summary)
        case .error(let cause): error = cause
        case .interrupted(let code):
            exit = code
            error = MirrorError(.cancelled, counts.summary.interruption)
        case .firstFailure, nil: break
        }
        return counts.closed(error: error, exit: exit, seconds: Double(elapsed) / 1000)
    }
}

// MARK: From phase to phase

extension RunMachine {
    private func begin() {
        guard phase == .waiting else { return }
        // Adoptions come first, because they need no more than their rows.
        var adopted: [Int] = []
        var others: [Int] = []
        var kept = plan.steps.plainKeeps
        for position in plan.steps.notable where plan.steps.plainFetch(at: position) == nil {
            let step = plan.steps[position]
            switch step.means {
            case .nothing where step.isKept: kept += 1
            case .adoption: adopted.append(position)
            case .nothing, .copy, .move: others.append(position)
            case .transfer, .removal: break
            }
        }
        for target in plan.supersededParts.keys.sorted() where plan.keeps(target) {
            steps.book.discardSupersededParts(of: target)
        }
        if !plan.abandonedParts.isEmpty { surroundings.discard(parts: plan.abandonedParts) }
        let local = adopted + others
        // The run does not report files that were not looked at as kept.
        let seen = lookedAt.map { min($0, kept) } ?? kept
        steps.book.accounts.counts.enterLeftOut(kept - seen)
        steps.open(local, kept: seen - changed)
        queue = StepQueue(local)
        phase = .local
        if isEnding { leaveOutWhatWaits() }
    }

    /// Ends a run that may not begin: each resource counts as left out.
    private func refuse(_ error: MirrorError) {
        steps.book.accounts.counts.enterLeftOut(plan.wantedSteps - changed)
        _ = note(.error(error))
        phase = .over
    }

    private func advance() {
        if phase == .waiting || phase == .over { return }
        if phase == .looking {
            if isEnding { phase = .over }
            return
        }
        if isGraceOver { return abandon() }
        if phase == .local {
            if !isEnding { beginLocalSteps() }
            guard queue.isEmpty else { return }
            startEvicting()
        }
        if phase == .evicting {
            beginRemovals()
            guard queue.isEmpty, removing == 0 else { return surroundings.hurry() }
            phase = .transferring
            steps.book.sets.noteHopeless()
        }
        if phase == .transferring {
            steps.advance()
            if steps.book.accounts.open.isEmpty { startRemoving() }
        }
        if phase == .removing {
            beginRemovals()
            if queue.isEmpty, steps.book.accounts.open.isEmpty {
                phase = steps.book.rules.looksAtKeptLast && !isEnding ? .looking : .over
            }
        }
        // No step will end soon that could share a flush with the promotions that wait.
        if steps.transfers.window.running.isEmpty, queue.isEmpty, !steps.book.accounts.open.isEmpty
        {
            surroundings.hurry()
        }
    }

    private func beginLocalSteps() {
        while case let positions = queue.take(underWay: steps.book.table.local), !positions.isEmpty
        {
            // A caller may have cancelled some of them before their turns came.
            let waiting = positions.filter { steps.book.isWaiting($0) }
            steps.beginLocally(waiting)
        }
    }

    /// Begins the evictions first if the disk has no room for the transfers otherwise.
    ///
    /// In all other cases evictions come last, because a file is of use until another one is there.
    private func startEvicting() {
        phase = .evicting
        guard evictsFirst, !isEnding else { return evictsFirst = false }
        queue = StepQueue(plan.steps.indices.filter(plan.steps.isEviction))
    }

    private func startRemoving() {
        phase = .removing
        let removals = plan.steps.indices.filter {
            plan.steps.isRemoval(at: $0) && !(evictsFirst && plan.steps.isEviction(at: $0))
                && !steps.book.sets.has($0)
        }
        if isEnding { return steps.book.leaveRemovals(removals) }
        queue = StepQueue(removals)
    }

    private func beginRemovals() {
        while !queue.isEmpty, !isEnding {
            let positions = queue.take(underWay: removing)
            if positions.isEmpty { return }
            for position in positions {
                if isEnding {
                    steps.book.leaveRemovals(CollectionOfOne(position))
                } else {
                    remove(position)
                }
            }
        }
    }
}

// MARK: Removals

extension RunMachine {
    /// Begins the removal of an orphan, or of a file that the quota has no room for.
    private func remove(_ position: Int) {
        let step = plan.steps[position]
        if phase == .removing, step.kind == .evicted, steps.book.accounts.takeRoom(for: step) {
            return keep(position, step)
        }
        steps.book.accounts.open(CollectionOfOne(position))
        removing += 1
        guard case .ours(let stamp, _) = step.existing else {
            return removed(position, .obstructed(step))
        }
        surroundings.remove(position, Removal(target: step.target, stamp: stamp))
    }

    /// Keeps a file that the plan evicts. The file fits into the space of files that did not arrive.
    private func keep(_ position: Int, _ step: Step) {
        guard step.resource != nil else { return }
        steps.book.accounts.open(CollectionOfOne(position))
        steps.book.table.insert(StepWork(step, .tree), at: position)
        steps.book.leave(
            position,
            Event.Done(
                target: step.target, step: step.kind, outcome: .kept, reason: step.reason,
                verified: .none))
    }

    /// Enters the end of a removal. An error means that the file stayed, and an orphan remains one.
    private func removed(_ position: Int, _ error: MirrorError?) {
        guard steps.book.accounts.open.contains(position) else { return }
        removing -= 1
        let step = plan.steps[position]
        if step.kind == .evicted, step.resource != nil {
            if let error { return steps.book.fail(position, error) }
            return steps.book.finish(position, Event.Done(evicted: step))
        }
        steps.book.depart(position, error)
    }
}

// MARK: Ending early

extension RunMachine {
    /// Ends the run early. Transfers under way keep their parts unless `discardingParts` is true.
    private func end(_ ending: RunEnding, discardingParts: Bool = false) {
        if discardingParts { steps.cancel(nil, discardingPart: true) }
        guard note(ending) else { return }
        steps.book.noteEnding(ending)
        guard phase != .waiting else { return }
        // Running steps come first, because leaving out a million steps takes a while.
        steps.cancel(nil, discardingPart: false)
        hasToLeaveOut = true
    }

    private func leaveOutWhatWaits() {
        hasToLeaveOut = false
        let rest = queue.takeRest()
        if phase == .removing || phase == .evicting {
            steps.book.leaveRemovals(rest)
        } else {
            steps.book.leaveOut(rest)
        }
        steps.leaveOutWhatWaits()
    }

    /// Ends all open steps without waiting for their work in the loop or on the disk.
    private func abandon() {
        for position in plan.steps.indices where steps.book.accounts.open.contains(position) {
            if plan.steps.isRemoval(at: position) {
                steps.book.leaveRemovals(CollectionOfOne(position))
            } else {
                steps.abandon(position)
            }
        }
        steps.advance()
        if phase != .removing { startRemoving() }
        phase = .over
        surroundings.abandonPromotions()
    }
}

// MARK: Deadline and grace

extension RunMachine {
    /// Notes what ends the run. Returns false if another cause has ended it.
    ///
    /// The first cause stays. But a signal or the deadline still shortens the wait for work under
    /// way.
    private func note(_ ending: RunEnding) -> Bool {
        let limits = [
            ending.grace.map { now.addingSaturated($0) },
            deadline?.addingSaturated(RunEnding.graceAfterDeadline),
        ]
        graceEnd = (limits + [graceEnd]).compactMap { $0 }.min()
        guard self.ending == nil else { return false }
        self.ending = ending
        return true
    }

    /// Whether the deadline has come, and no other cause has ended the run.
    private var isDeadlineOver: Bool { ending == nil && deadline.map { now >= $0 } ?? false }

    /// Whether the run no longer waits for the work under way.
    private var isGraceOver: Bool { graceEnd.map { now >= $0 } ?? false }

    /// Milliseconds until the next timer. `nil` means that only a message can wake the run.
    var wait: Int64? {
        if isOver || hasToLeaveOut { return 0 }
        if phase == .transferring, steps.transfers.mayBeginMore(steps.book) { return 0 }
        let next = ending == nil ? deadline : graceEnd
        return next.map { max(0, $0 - now) }
    }
}

extension RunEnding {
    /// How long a run may go on after its deadline, in milliseconds.
    fileprivate static let graceAfterDeadline: Int64 = 1000

    /// Milliseconds to wait for the work under way. `nil` means no limit.
    ///
    /// An interrupted run has 400 ms, because the command ends the process 700 ms after a signal
    /// (`Interruption.patience`). A flush may take longer. Then the next run settles it as after a
    /// crash.
    fileprivate var grace: Int64? {
        switch self {
        case .interrupted: 400
        case .error(let error) where error.code == .deadline: RunEnding.graceAfterDeadline
        case .error, .firstFailure: nil
        }
    }
}
