/// A run of a plan as a state machine: it is told what happened, and says what is to be done.
///
/// One thread drives it: it gives each input with the moment at which it came, does what `takeActions`
/// asks, in that order, and sleeps for `wait` when there is nothing more. Steps that need no server
/// come first, because transfers may replace what they read; then the transfers, as many as the
/// window allows; removals come last, when everything else has ended.
///
///     ready ─ read ──► found ─── land, confirm ─► landed, confirmed ─ tell
///           ─ claim ─► claimed ─ submit ─► transfer … ─ land, confirm ─► … ─ tell, release
///           ─ remove ─► removed ─ tell
///
/// Every step for a target that is wanted ends once: done, failed, interrupted or left out.
package struct RunMachine: Sendable {
    /// What is carried out.
    package let plan: Plan
    let rules: RunRules
    let settler: Settler
    let sharing: RequestSharing
    var steps: StepAccounts
    var window = TransferWindow()
    var works: [Int: StepWork] = [:]
    /// Steps whose targets another run of the process has.
    var joined: Set<Int> = []
    private var queue = StepQueue()
    private var phase = Phase.waiting
    private var end: RunEnd
    private(set) var now = RunMoment(elapsed: 0, time: Instant(seconds: 0))
    private var actions: [RunAction] = []

    private enum Phase { case waiting, local, transferring, removing, over }

    /// A run that waits for `ready`.
    package init(_ plan: Plan, rules: RunRules) {
        self.plan = plan
        self.rules = rules
        settler = Settler(plan: plan, onConflict: rules.onConflict)
        sharing = RequestSharing(plan)
        steps = StepAccounts(plan)
        end = RunEnd(deadline: rules.deadline)
    }

    /// Whether the last step has ended.
    package var isOver: Bool { phase == .over }

    /// For how many milliseconds nothing is to be done unless something is told; nil is for ever.
    package var wait: Int64? { isOver ? 0 : end.wait(at: now.elapsed) }

    /// Whether something ended the run early.
    package var isEnding: Bool { end.ending != nil }

    /// Takes what is to be done, in order.
    package mutating func takeActions() -> [RunAction] {
        defer { actions = [] }
        return actions
    }

    /// Adds something that is to be done.
    mutating func act(_ action: RunAction) { actions.append(action) }

    /// Takes in what happened.
    package mutating func take(_ input: RunInput, at moment: RunMoment) {
        now = moment
        guard !isOver else { return }
        switch input {
        case .ready: begin()
        case .refused(let error): refuse(error)
        case .tick: break
        case .pause, .resume, .cancel: steer(input)
        case .end(let ending): end(ending)
        case .found(let rows): for known in rows { found(known.row, for: known.position) }
        case .claimed(let rows): claimed(rows)
        case .occupied(let positions): occupied(positions)
        case .unreadable(let positions, let error): unreadable(positions, error)
        case .joined(let position, let end): rejoin(position, end)
        case .transfer(let position, let news): take(news, of: position)
        case .named(let position, let body, let target): arrived(body, at: target, for: position)
        case .landed(let position, let result): landed(position, result)
        case .confirmed(let position, let error): confirmed(position, error)
        case .removed(let position, let error): removed(position, error)
        }
        if end.isDue(at: now.elapsed) {
            end(.error(.deadlineIsOver(rules.deadline, Summary())))
        }
        advance()
    }

    /// The targets of steps that had begun and were not finished when the run ended early.
    package var interrupted: [Target] { steps.interrupted.map { plan.steps.target(at: $0) } }

    /// The run's numbers, once it is over.
    ///
    /// - Parameter parts: how much of each interrupted transfer a later run can go on from, in bytes.
    package mutating func close(parts: [Int64], at elapsed: Int64) -> Summary {
        steps.ledger.enterParts(parts)
        var error: MirrorError?
        var exit: Int32?
        switch end.ending {
        case .error(let cause) where cause.code == .deadline:
            error = .deadlineIsOver(rules.deadline, steps.ledger.summary)
        case .error(let cause): error = cause
        case .interrupted(let code):
            exit = code
            error = MirrorError(.cancelled, steps.ledger.summary.interruption)
        case .firstFailure, nil: break
        }
        return steps.ledger.closed(error: error, exit: exit, seconds: Double(elapsed) / 1000)
    }
}

// MARK: From phase to phase

extension RunMachine {
    private mutating func begin() {
        guard phase == .waiting else { return }
        phase = .local
        var adopted: [Int] = []
        var local: [Int] = []
        var kept = plan.steps.plainKeeps
        for position in plan.steps.notable {
            let step = plan.steps[position]
            switch step.means {
            case .nothing where step.kind == .keep: kept += 1
            case .adoption: adopted.append(position)
            case .nothing, .copy, .move: local.append(position)
            case .transfer, .removal: break
            }
        }
        steps.ledger.enterKept(kept)
        for target in plan.supersededParts.keys.sorted() where plan.keeps(target) {
            discardSupersededParts(of: target)
        }
        for positions in [adopted, local, sharing.leaders] { steps.open(positions) }
        steps.open(sharing.followers.values.joined())
        queue = StepQueue(adopted + local)
        window.fill(JobFeed(plan.turns(of: sharing.leaders), window: rules.window))
        if isEnding { leaveOutWhatWaits() }
    }

    /// Nothing was begun: each resource was left out, and is counted as that.
    private mutating func refuse(_ error: MirrorError) {
        steps.ledger.enterLeftOut(plan.wantedSteps)
        _ = end.end(.error(error), at: now.elapsed)
        phase = .over
    }

    private mutating func advance() {
        if end.isGraceOver(at: now.elapsed), phase != .waiting { return abandon() }
        if phase == .local {
            beginLocalSteps()
            guard queue.isEmpty else { return }
            phase = .transferring
        }
        if phase == .transferring {
            while !isEnding, case let positions = window.next(), !positions.isEmpty {
                transfer(positions)
            }
            if steps.open.isEmpty { startRemoving() }
        }
        if phase == .removing {
            beginRemovals()
            if queue.isEmpty, steps.open.isEmpty { phase = .over }
        }
        // Nothing will come soon that could share a flush with what waits for one.
        if window.running.isEmpty, queue.isEmpty, !steps.open.isEmpty { act(.hurry) }
    }

    private mutating func beginLocalSteps() {
        while case let positions = queue.take(), !positions.isEmpty { begin(positions) { _ in .local } }
    }

    private mutating func startRemoving() {
        phase = .removing
        let removals = isEnding ? [] : plan.steps.indices.filter(plan.steps.isRemoval)
        queue = StepQueue(removals)
        steps.open(removals)
    }

    private mutating func beginRemovals() {
        while case let positions = queue.take(), !positions.isEmpty {
            for position in positions {
                let step = plan.steps[position]
                guard case .ours(let stamp, _) = step.occupant else {
                    removed(position, .obstructed(step))
                    continue
                }
                act(.remove(position, Removal(target: step.target, stamp: stamp)))
            }
        }
    }

    private mutating func removed(_ position: Int, _ error: MirrorError?) {
        guard steps.close(position) else { return }
        queue.ended()
        steps.ledger.enterRemoval(succeeded: error == nil)
        let step = plan.steps[position]
        if let error {
            tell(failure(of: step, error))
        } else {
            act(.tell(.removed(.init(target: step.target, reason: step.reason, size: step.size))))
        }
    }

    /// Notes that a step of the queue has ended, or became a transfer.
    mutating func leaveQueue() { queue.ended() }
}

// MARK: Ending early

extension RunMachine {
    /// Ends the run; what is under way keeps its part.
    mutating func end(_ ending: RunEnding) {
        guard end.end(ending, at: now.elapsed), phase != .waiting else { return }
        // First what is under way: to leave out a million steps takes a second.
        act(.cancel(Array(window.running), discardingParts: false))
        leaveOutWhatWaits()
    }

    private mutating func leaveOutWhatWaits() {
        let rest = queue.takeRest()
        if phase == .removing {
            for position in rest { steps.close(position) }
            steps.ledger.enterOrphansLeft(rest.count)
        } else {
            leaveOut(rest)
        }
        leaveOut(window.takeRest())
        for position in window.takeHeld() { breakOff(position) }
        leaveOut(joined)
        joined = []
    }

    /// What still is with the loop or on its way to the disk is not waited for any more.
    private mutating func abandon() {
        for position in plan.steps.indices where steps.open.contains(position) {
            if plan.steps.isRemoval(at: position) {
                steps.close(position)
                steps.ledger.enterOrphansLeft(1)
            } else {
                breakOff(position)
            }
        }
        phase = .over
        act(.abandonPromotions)
    }

    /// Ends steps, and those that share their requests, whose turn does not come in this run. They
    /// are counted and have no event each: a run of a million entries ends within a second too.
    mutating func leaveOut(_ positions: some Sequence<Int>) {
        for position in positions {
            steps.leaveOut(CollectionOfOne(position))
            steps.leaveOut(sharing.followers[position] ?? [])
        }
    }

    /// Ends a step that ends only because the run does: it is counted, and has no event.
    mutating func breakOff(_ position: Int) {
        steps.enterUnfinished(position)
        leaveOut(CollectionOfOne(position))
        close(position, .abandoned, isPassedOn: false)
    }
}
