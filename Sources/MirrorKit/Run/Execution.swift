internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// A plan under way, as others see it: they leave messages for its thread, and read nothing of it.
final class Execution: Sendable {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    let engine: Engine
    let requests: PreparedRequests
    let leases: FileLeases
    /// The run's identifier, and its number among those of the engine.
    let identifier: String
    let number: Int
    let mailbox: Mailbox<RunMessage>
    /// Takes the run's events.
    let control: RunControl

    init(
        plan: Plan, options: RunOptions, configuration: Configuration, engine: Engine,
        requests: PreparedRequests, leases: FileLeases, control: RunControl
    ) throws(MirrorError) {
        do throws(Errno) { mailbox = try Mailbox() } catch { throw MirrorError(error) }
        self.plan = plan
        self.options = options
        self.configuration = configuration
        self.engine = engine
        self.requests = requests
        self.leases = leases
        self.control = control
        identifier = RunIdentifier.make(now: SystemClock.now(), random: RandomBytes.make(10))
        number = engine.runs.add(mailbox)
    }

    /// Carries the plan out; blocks the calling thread until the run is over. Gives its summary, which
    /// is told once everything of the run is put away.
    func run() -> Summary { RunThread(self).run() }

    /// Tells the run something; after its end nothing comes of that.
    func steer(_ input: RunInput) { mailbox.post(.input(input), isUrgent: true) }

    /// An event of this run, now.
    func event(_ body: Event.Body) -> Event {
        Event(run: identifier, time: SystemClock.now(), body: body)
    }
}

extension Execution: PromotionReceiver {
    /// Passes on what is on the disk; who waits to read a file goes on, also when the run is over.
    func promoted(_ ends: [PromotionEnd]) {
        for case .landed(let target, _) in ends.map(\.result) { leases.landed(target) }
        mailbox.post(.promoted(ends))
    }
}

extension RunRules {
    /// What a run's options and its session's configuration ask for.
    init(_ options: RunOptions, _ configuration: Configuration) {
        self.init()
        isOffline = options.isOffline
        acceptsStale = options.acceptsStale
        longestStale = options.longestStale
        stopsAtFirstFailure = options.stopsAtFirstFailure
        deadline = options.deadline
        onConflict = configuration.onConflict
        window = max(256, 8 * configuration.jobs)
    }
}
