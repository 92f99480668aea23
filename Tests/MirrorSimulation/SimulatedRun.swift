@testable import MirrorKit

/// A run on the thread of transfers: the real state machine, over an index and a disk of the simulation.
final class SimulatedRun {
    private(set) lazy var machine = RunMachine(plan, rules: story.rules, in: self)
    private let plan: Plan
    private let story: Story
    private let time: VirtualTime
    private let disk: SimulatedDisk
    private let inbox: TransferInbox
    /// The transfers; set before the first turn.
    var engine: TransferEngine?
    /// What other threads have told, and what transfers have.
    private var mailbox: [RunInput] = []
    private var news: [RunInput] = []
    private var actedAt: Int64 = 0
    /// What was told, in order, and the summary.
    private(set) var told: [Event.Body] = []
    private(set) var summary: Summary?
    private(set) var overAt: Int64 = 0
    /// How often each step took its target and let it go.
    private(set) var claims: [Int: Int] = [:]
    private(set) var releases: [Int: Int] = [:]
    /// Steps whose transfers were handed to the loop while all was paused.
    private(set) var submittedWhilePaused: [Int] = []
    private var isPaused = false
    /// Steps that are not urgent, and whose transfers were handed to the loop while that was denied.
    private(set) var submittedWhileDenied: [Int] = []
    private var isDenied = false
    /// Steps of a set whose files were to promote without the others.
    private(set) var promotedAlone: [Int] = []

    init(_ story: Story, disk: SimulatedDisk, inbox: TransferInbox) throws {
        self.story = story
        self.disk = disk
        self.inbox = inbox
        time = story.time
        plan = try story.plan()
        disk.onEnd = { [unowned self] in post($0) }
    }

    /// Leaves a message from another thread; it arrives after a while.
    func post(_ input: RunInput) {
        time.after(story.hop) { [unowned self] in mailbox.append(input) }
    }

    /// Notes what a transfer reports, until the next turn.
    func note(_ event: TransferEvent, of position: Int) {
        news.append(.transfer(position, event))
    }

    /// Acts on every message so far.
    func takeTurn() {
        guard timeToWait == 0 else { return }
        let inputs = news + mailbox
        (news, mailbox) = ([], [])
        for input in inputs { take(input) }
        take(.tick)
    }

    /// Milliseconds until something is to be done by itself.
    var timeToWait: Int64? {
        if !news.isEmpty || !mailbox.isEmpty { return 0 }
        guard !machine.isOver, let wait = machine.wait else { return nil }
        return max(0, actedAt.addingSaturated(wait) - time.now)
    }

    private var moment: RunMoment { RunMoment(elapsed: time.now, time: time.clock.now()) }

    private func take(_ input: RunInput) {
        guard !machine.isOver else { return }
        switch input {
        case .pause(nil): isPaused = true
        case .resume(nil): isPaused = false
        case .permission(let deferral): isDenied = deferral != nil
        default: break
        }
        actedAt = time.now
        machine.take(input, at: moment)
        guard machine.isOver else { return }
        overAt = time.now
        summary = machine.close(parts: machine.interrupted.map { _ in 0 }, at: time.now)
        time.tell("the run is over: \(summary.map { "\($0.outcomes)" } ?? "")")
        inbox.post { $0.stop() }
    }
}

extension SimulatedRun: RunSurroundings {
    func tell(_ event: Event.Body, _ totals: RunTotals) { told.append(event) }

    var hasPlannedRows: Bool { false }

    func rows(of targets: [Target]) throws(MirrorError) -> [IndexRecord?] {
        targets.map { target in
            story.row(of: target)
                ?? plan.steps.position(of: target).flatMap { try? story.ownRow(at: $0) }
        }
    }

    /// A step of a set has its target before it begins, and takes it only once.
    func claim(_ positions: [Int]) throws(MirrorError) -> [Int] {
        for position in positions {
            let releases = releases[position] ?? 0
            if claims[position] ?? 0 == releases { claims[position] = releases + 1 }
        }
        return []
    }

    func release(_ position: Int, _ end: Result<Event.Done, MirrorError>?) {
        releases[position, default: 0] += 1
    }

    func submit(
        _ position: Int, _ step: Step, with others: [Int], storedMediaType: String?,
        keepsPart: Bool, isUrgent: Bool
    ) {
        if isPaused { submittedWhilePaused.append(position) }
        // Another step of the same request may be urgent; its wish has the same number.
        if isDenied, story.wish(of: story.roles[position].role).map({ !Story.isUrgent($0) }) ?? true
        {
            submittedWhileDenied.append(position)
        }
        if let job = try? story.job(at: position) { engine?.submit(job) }
    }

    func pause(_ positions: [Int]) {
        // They were submitted just before, and none has started yet.
        submittedWhilePaused.removeAll(where: positions.contains)
        for job in positions { engine?.pause(job) }
    }

    func resume(_ positions: [Int]) { for job in positions { engine?.resume(job) } }

    func cancel(_ positions: [Int], discardingParts: Bool) {
        submittedWhileDenied.removeAll(where: positions.contains)
        engine?.cancel(positions, discardingPart: discardingParts)
    }

    func discard(parts names: [String]) {
        for name in names { try? disk.parts.discard(part: name) }
    }

    func name(_ body: ReceivedBody, of position: Int) throws(MirrorError) -> Target {
        plan.steps.target(at: position)
    }

    func change(of target: Target, since stamp: FileStamp) -> MirrorError? { nil }

    func lackOfRoom(forFileOf size: Int64, at position: Int) -> Reason? { nil }

    func promote(_ position: Int, _ promotion: Promotion) {
        if story.isAtomic { promotedAlone.append(position) }
        disk.promote(position, promotion)
    }

    func promote(_ set: SetContents) { disk.promote(set) }

    func confirm(_ position: Int, _ confirmed: Confirmed) { disk.confirm(position, confirmed) }

    func remove(_ position: Int, _ removal: Removal) { disk.remove(position) }

    func hurry() { disk.hurry() }

    func abandonPromotions() { time.tell("the run does not wait for the disk") }
}
