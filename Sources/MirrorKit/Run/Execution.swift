internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import MirrorTransfer

/// A plan under way, as other threads see it.
///
/// They post messages to its thread and read none of that thread's state.
final class Execution: Sendable {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    let engine: Engine
    private let prepared: PreparedRequests
    /// What the program is asked for again; nil where it supplies no credentials.
    let credentials: RenewedCredentials?
    /// What the tasks read that asked for the run: it must not wait for them.
    let heldByCaller: [FileLease]
    /// The run's identifier, and its number among the runs of the engine.
    let identifier: String
    let number: Int
    let mailbox: Mailbox<RunMessage>
    /// Takes the run's events.
    let control: RunControl

    init(
        plan: Plan, options: RunOptions, configuration: Configuration, engine: Engine,
        requests: PreparedRequests, control: RunControl
    ) throws(MirrorError) {
        do throws(Errno) { mailbox = try Mailbox() } catch { throw MirrorError(error) }
        self.plan = plan
        self.options = options
        self.configuration = configuration
        self.engine = engine
        prepared = requests
        credentials =
            options.isOffline
            ? nil : options.credentials.map { RenewedCredentials(requests, from: $0) }
        self.control = control
        heldByCaller = FileLease.held
        identifier = RunIdentifier.make(now: SystemClock.now(), random: RandomBytes.make(10))
        number = engine.runs.add(mailbox)
    }

    /// The leases of the root's files.
    var leases: FileLeases { engine.leases }

    /// Carries out the plan and returns the summary, and what the transfers brought.
    ///
    /// The calling thread is blocked until the run is over. The summary is sent as an event once
    /// everything that the run used is closed.
    func run() -> (Summary, RunTotals) {
        defer { credentials?.stop() }
        return RunThread(self).run()
    }

    /// Whether a file may have been changed or removed since the plan looked at it.
    ///
    /// A second look right after the first sees the same, and with a million files its cost is noticed. So
    /// a call that makes its own plan leaves it out for five seconds from the first look. A scan that
    /// takes longer, or events that are read slowly, cost more than the second look does.
    var isLookOld: Bool {
        guard options.followsPlanning, let looked = plan.looked else { return true }
        return looked.duration(to: .now) > .seconds(5)
    }

    /// Sends an input to the run; has no effect after the run's end.
    func steer(_ input: RunInput) { mailbox.post(.input(input), isUrgent: true) }

    /// An event of this run; by default at the current time.
    func event(
        _ body: Event.Body, at time: Instant = SystemClock.now(), totals: RunTotals
    ) -> Event {
        Event(run: identifier, time: time, body: body, totals: totals)
    }

    /// The job for a transfer of the run.
    func job(for submission: Submission, spending allowance: ByteAllowance?) -> TransferJob {
        let step = submission.step
        // Only the step of an orphan has no resource, and that is a removal.
        guard let number = step.resource else {
            preconditionFailure("a transfer without a resource")
        }
        let resource = plan.manifests[step.manifest].resources[number]
        let request = (credentials?.requests ?? prepared).request(for: resource)
        return TransferJob(
            id: RunRegister.job(of: self.number, position: submission.position),
            target: step.target, sources: request.sources, postBody: request.body,
            expectation: Expectation(of: resource, replacing: submission.storedMediaType),
            local: step.local, part: step.part,
            priority: resource.priority,
            isDecisive: options.stopsAtFirstFailure && !resource.isOptional,
            keepsPart: submission.keepsPart, renew: credentials?.renewal, allowance: allowance,
            isUrgent: submission.isUrgent)
    }
}

extension Execution: PromotionReceiver {
    /// Reports durable promotions to the run, and wakes the readers that wait for landed files.
    ///
    /// The readers are woken even if the run is over.
    func promoted(_ ends: [PromotionEnd]) {
        for at in ends.indices {
            switch ends[at].result {
            case .landed(let landing, _):
                leases.releaseExclusive(landing.target)
                if let orphan = landing.renamedOrphan { leases.releaseExclusive(orphan) }
            case .set(let set, _): for target in set.targets { leases.releaseExclusive(target) }
            case .removed: leases.releaseExclusive(plan.steps.target(at: ends[at].number))
            case .confirmed, .notConfirmed: break
            }
        }
        // A batch is worth a wake-up, and the last one ends the run.
        mailbox.post(.promoted(ends), isUrgent: true)
    }
}

extension RunRules {
    /// The rules that follow from a run's options and its session's configuration.
    init(_ options: RunOptions, _ configuration: Configuration) {
        self.init()
        isOffline = options.isOffline
        acceptsStale = options.acceptsStale
        longestStale = options.longestStale
        stopsAtFirstFailure = options.stopsAtFirstFailure
        deadline = options.deadline
        hasBudget = options.permission.budget != nil
        looksAtKeptLast = !options.reportsKept
        onConflict = configuration.onConflict
        paused = options.paused
        window = max(256, 8 * configuration.jobs)
    }
}
