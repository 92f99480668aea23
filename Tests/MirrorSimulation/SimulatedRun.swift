@testable import MirrorKit

/// A run on the thread of transfers: the real state machine, over an index and a disk of the simulation.
final class SimulatedRun {
    let machine: RunMachine
    private let story: Story
    private let time: VirtualTime
    private let disk: SimulatedDisk
    private let inbox: TransferInbox
    /// The transfers; set before the first turn.
    var engine: TransferEngine?
    /// What other threads have told, and what transfers have.
    private var mailbox: [RunInput] = []
    private var news: [RunInput] = []
    private var actions: [RunAction] = []
    /// Whether the machine may have actions that the last turn left, as with `RunDriver`.
    private var hasActionsLeft = false
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
        machine = RunMachine(try story.plan(), rules: story.rules)
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
        if hasActionsLeft || !news.isEmpty || !mailbox.isEmpty { return 0 }
        guard !machine.isOver, let wait = machine.wait else { return nil }
        return max(0, actedAt.addingSaturated(wait) - time.now)
    }

    private var moment: RunMoment { RunMoment(elapsed: time.now, time: time.clock.now()) }

    private func take(_ input: RunInput) {
        guard !machine.isOver || hasActionsLeft else { return }
        switch input {
        case .pause(nil): isPaused = true
        case .resume(nil): isPaused = false
        case .permission(let deferral): isDenied = deferral != nil
        default: break
        }
        actedAt = time.now
        machine.take(input, at: moment)
        repeat {
            machine.takeActions(into: &actions)
            for action in actions { perform(action) }
            hasActionsLeft = actions.contains { if case .submit = $0 { true } else { false } }
        } while !actions.isEmpty && !hasActionsLeft
        guard machine.isOver, !hasActionsLeft else { return }
        overAt = time.now
        summary = machine.close(parts: machine.interrupted.map { _ in 0 }, at: time.now)
        time.tell("the run is over: \(summary.map { "\($0.outcomes)" } ?? "")")
        inbox.post { $0.stop() }
    }

    /// A step of a set has its target before it begins, and takes it only once.
    private func noteClaims(_ positions: [Int]) {
        for position in positions {
            let releases = releases[position] ?? 0
            if claims[position] ?? 0 == releases { claims[position] = releases + 1 }
        }
    }

    private func noteDenied(_ submissions: [Submission]) {
        // Another step of the same request may be urgent; its wish has the same number.
        submittedWhileDenied += submissions.map(\.position).filter {
            story.wish(of: story.roles[$0].role).map { !Story.isUrgent($0) } ?? true
        }
    }

    private func claim(_ action: RunAction) {
        switch action {
        case .claim(let wishes):
            noteClaims(wishes.map(\.position))
            let rows = wishes.map { KnownRow($0.position, try? story.ownRow(at: $0.position)) }
            machine.take(.claimed(rows), at: moment)
        case .claimSet(let number, let positions):
            noteClaims(positions)
            machine.take(.setClaimed(number, positions), at: moment)
        default: break
        }
    }

    private func perform(_ action: RunAction) {
        switch action {
        case .tell(let body): told.append(body)
        case .read(let wishes):
            let rows = wishes.map { KnownRow($0.position, story.row(of: $0.target)) }
            machine.take(.found(rows), at: moment)
        // A run that is over would never let go of a target.
        case .claim, .claimSet: if !machine.isOver { claim(action) }
        case .submit(let submissions):
            if isPaused { submittedWhilePaused += submissions.map(\.position) }
            if isDenied { noteDenied(submissions) }
            for job in submissions.compactMap({ try? story.job(at: $0.position) }) {
                engine?.submit(job)
            }
        case .name(let position, let body):
            let target = Result { () throws(MirrorError) in machine.plan.steps.target(at: position)
            }
            machine.take(.named(position, body, target), at: moment)
        case .promote(let position, let promotion):
            if story.isAtomic { promotedAlone.append(position) }
            disk.promote(position, promotion)
        case .promoteSet(let set): disk.promote(set)
        case .confirm(let position, let confirmed): disk.confirm(position, confirmed)
        case .look(let position, _, _): machine.take(.confirmed(position, nil), at: moment)
        case .remove(let position, _): disk.remove(position)
        case .hurry: disk.hurry()
        case .discard(let names): for name in names { try? disk.parts.discard(part: name) }
        case .release(let position, _, _): releases[position, default: 0] += 1
        case .pause(let positions):
            // They were submitted by the actions before, and none has started yet.
            submittedWhilePaused.removeAll(where: positions.contains)
            for job in positions { engine?.pause(job) }
        case .resume(let positions): for job in positions { engine?.resume(job) }
        case .cancel(let positions, let discarding):
            submittedWhileDenied.removeAll(where: positions.contains)
            engine?.cancel(positions, discardingPart: discarding)
        case .abandonPromotions: time.tell("the run does not wait for the disk")
        }
    }
}
