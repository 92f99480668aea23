@testable import MirrorModel
@testable import MirrorSystem
@testable import MirrorKit

/// The thread of a run: the real state machine, over an index, a disk and a mailbox of the simulation.
final class SimulatedRun {
    let machine: RunMachine
    private let story: Story
    private let time: VirtualTime
    private let disk: SimulatedDisk
    private let inbox: TransferInbox
    private var mailbox: [RunInput] = []
    private var actions: [RunAction] = []
    private var isTurnDue = false
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
    /// Steps of a set whose files were to land without the others.
    private(set) var landedAlone: [Int] = []

    init(_ story: Story, disk: SimulatedDisk, inbox: TransferInbox) throws {
        self.story = story
        self.disk = disk
        self.inbox = inbox
        time = story.time
        machine = RunMachine(try story.plan(), rules: story.rules)
        disk.onEnd = { [unowned self] in post($0) }
    }

    /// Leaves a message; it is taken as soon as the thread gets round to it.
    func post(_ input: RunInput) {
        mailbox.append(input)
        guard !isTurnDue else { return }
        isTurnDue = true
        time.after(story.hop) { [unowned self] in turn() }
    }

    /// Acts on every message so far.
    func turn() {
        isTurnDue = false
        let messages = mailbox
        mailbox = []
        for message in messages { take(message) }
        take(.tick)
    }

    /// When something is to be done though nothing is told.
    var due: Int64? {
        machine.isOver ? nil : machine.wait.map { actedAt.addingSaturated($0) }
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
        machine.takeActions(into: &actions)
        while !actions.isEmpty {
            for action in actions { perform(action) }
            machine.takeActions(into: &actions)
        }
        guard machine.isOver else { return }
        overAt = time.now
        summary = machine.close(parts: machine.interrupted.map { _ in 0 }, at: time.now)
        time.tell("the run is over: \(summary.map { "\($0.outcomes)" } ?? "")")
        inbox.post(.stop)
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

    private func perform(_ action: RunAction) {
        switch action {
        case .tell(let body): told.append(body)
        case .read(let wishes):
            let rows = wishes.map { KnownRow($0.position, story.row(of: $0.target)) }
            machine.take(.found(rows), at: moment)
        case .claim(let wishes):
            noteClaims(wishes.map(\.position))
            let rows = wishes.map { KnownRow($0.position, try? story.ownRow(at: $0.position)) }
            machine.take(.claimed(rows), at: moment)
        case .claimSet(let number, let positions):
            noteClaims(positions)
            machine.take(.setClaimed(number, positions), at: moment)
        case .submit(let submissions):
            if isPaused { submittedWhilePaused += submissions.map(\.position) }
            if isDenied { noteDenied(submissions) }
            inbox.post(.submit(submissions.compactMap { try? story.job(at: $0.position) }))
        case .name(let position, let body):
            let target = Result { () throws(MirrorError) in machine.plan.steps.target(at: position)
            }
            machine.take(.named(position, body, target), at: moment)
        case .land(let position, let landing):
            if story.isAtomic { landedAlone.append(position) }
            disk.land(position, landing)
        case .landSet(let set): disk.land(set)
        case .confirm(let position, let confirmed): disk.confirm(position, confirmed)
        case .look(let position, _, _): machine.take(.confirmed(position, nil), at: moment)
        case .remove(let position, _): disk.remove(position)
        case .hurry: disk.hurry()
        case .discard(let names): for name in names { try? disk.parts.discard(part: name) }
        case .release(let position, _, _): releases[position, default: 0] += 1
        case .pause(let positions): for job in positions { inbox.post(.pause(job)) }
        case .resume(let positions):
            for job in positions { inbox.post(.resume(job)) }
        case .cancel(let positions, let discarding):
            inbox.post(.cancel(positions, discardingPart: discarding))
        case .abandonPromotions: time.tell("the run does not wait for the disk")
        }
    }
}
