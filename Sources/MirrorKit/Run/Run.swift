internal import Glibc
public import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// A plan under way: its events in order, the last of which is the summary.
///
/// The events can be read once. Leaving the loop that reads them, or cancelling its task, ends the
/// run; parts are kept. `waitForEnd` returns when it has ended. `cancel` also ends the run, but the
/// events continue until the summary.
public struct Run: AsyncSequence, Sendable {
    /// An event of the run.
    public typealias Element = Event
    /// The error that ended the run early: `MirrorError`, or `ManifestError`.
    public typealias Failure = any Error

    private let handle: Handle
    private var control: RunControl { handle.control }

    init(_ control: RunControl) { handle = Handle(control, isReader: false) }

    /// Ends the run early; parts are kept, and the summary carries this exit code.
    public func cancel(exit: Int32 = 130) { control.end(.interrupted(exit: exit)) }

    /// The summary, available as soon as the last resource has ended.
    ///
    /// The summary is sent as an event only once the index is closed and the lock is released,
    /// which a slow disk may delay.
    public var earlySummary: Event? { control.earlySummary }

    /// Waits until the run has ended and has given back all that it held, the root's lock included.
    ///
    /// So a program that has left the loop knows when the next run may begin. If another run of the
    /// session, or a body of `withLock`, is under way, the lock stays with that one. A cancelled task
    /// waits too: a run that is to end does so within a second. Whatever ended the run is thrown where
    /// the events are read.
    public func waitForEnd(isolation: isolated (any Actor)? = #isolation) async {
        await control.waitForEnd()
    }

    /// The events of the run.
    public func makeAsyncIterator() -> Iterator {
        control.events.noteReader()
        return Iterator(Handle(control, isReader: true))
    }

    /// Reads the events; the run ends when its reader is gone.
    public struct Iterator: AsyncIteratorProtocol {
        private let handle: Handle
        /// Events that were taken, and the position of the first that was not read.
        private var taken: [Event] = []
        private var position = 0

        fileprivate init(_ handle: Handle) { self.handle = handle }

        /// The next event; nil after the summary.
        public mutating func next() async throws -> Event? {
            handle.control.heedCancellation()
            if position == taken.count { try await refill() }
            return read()
        }

        /// The next event; nil after the summary.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            handle.control.heedCancellation()
            if position == taken.count { try await refill(isolation: actor) }
            return read()
        }

        /// All events that wait, at least one; nil after the summary.
        ///
        /// Each call of an asynchronous function may change threads, and a reader of thousands of
        /// events a second notices that.
        package mutating func nextEvents(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> ArraySlice<Event>? {
            handle.control.heedCancellation()
            if position == taken.count { try await refill(isolation: isolation) }
            defer { position = taken.count }
            return position == taken.count ? nil : taken[position...]
        }

        private mutating func read() -> Event? {
            if position == taken.count { return nil }
            defer { position += 1 }
            return taken[position]
        }

        /// Takes the events that wait; waits for the first of them, and takes none after the last.
        private mutating func refill(isolation: isolated (any Actor)? = #isolation) async throws {
            let control = handle.control
            while true {
                // An error may come instead: what was read must not be read again after it.
                (position, taken) = (0, [])
                taken = try control.events.take()
                if !taken.isEmpty || control.events.isOver { return }
                await control.waitForEvents()
            }
        }
    }

    /// Lives as long as a caller holds the run, or may ask for its next event. Its end also ends a run
    /// that has no reader, or whose reader it was: a caller may still hold the run after leaving the loop.
    fileprivate final class Handle: Sendable {
        let control: RunControl
        private let isReader: Bool

        init(_ control: RunControl, isReader: Bool) {
            (self.control, self.isReader) = (control, isReader)
        }

        deinit {
            if isReader || !control.events.hasReader {
                control.end(.interrupted(exit: 128 + SIGINT))
            }
        }
    }
}

extension Event {
    /// The only event of a run that could not begin, or whose end no caller waits for: its summary.
    ///
    /// If no exit code is given, the error decides it.
    public static func failure(
        _ error: MirrorError, root: String, exit: Int32? = nil, seconds: Double = 0
    ) -> Event {
        var summary = Summary()
        summary.root = root
        summary.error = error
        summary.seconds = seconds
        summary.exit = exit ?? error.code.exitCode
        return .standingAlone(summary)
    }

    /// A new name for a run: 26 characters that sort by time (ULID, https://github.com/ulid/spec).
    ///
    /// It is made of 48 bits of milliseconds and 10 random bytes, in Crockford's base 32.
    fileprivate static func runIdentifier() -> String {
        let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        var high = UInt64(clamping: SystemClock.now().milliseconds) & 0xFFFF_FFFF_FFFF
        var low = randomBytes(10).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        var text: [Character] = []
        for _ in 0..<16 {
            text.append(digits[Int(low & 31)])
            low >>= 5
        }
        for _ in 0..<10 {
            text.append(digits[Int(high & 31)])
            high >>= 5
        }
        return String(text.reversed())
    }

    /// The summary of a command that needed no run.
    package static func standingAlone(_ summary: Summary) -> Event {
        let run = Event.runIdentifier()
        return Event(run: run, time: SystemClock.now(), body: .summary(summary))
    }
}

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
    let mailbox = Mailbox<RunMessage>()
    /// Takes the run's events.
    let control: RunControl

    init(
        plan: Plan, options: RunOptions, configuration: Configuration, engine: Engine,
        requests: PreparedRequests, control: RunControl
    ) {
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
        identifier = Event.runIdentifier()
        number = engine.runs.nextNumber()
    }

    /// The leases of the root's files.
    var leases: FileLeases { engine.leases }

    /// Carries out the plan and returns the summary, and what the transfers brought.
    ///
    /// The calling thread is blocked until the run is over. The summary is sent as an event once
    /// everything that the run used is closed.
    func run() -> (Summary, RunTotals) {
        defer { credentials?.stop() }
        return RunDriver(self).run()
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
    func steer(_ input: RunInput) { mailbox.post(.input(input)) }

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
    /// Reports durable promotions to the run, and wakes the readers that wait for promoted files.
    ///
    /// The readers are woken even if the run is over.
    func promoted(_ ends: [PromotionEnd]) {
        for at in ends.indices {
            switch ends[at].result {
            case .promoted(let promotion, _):
                leases.releaseExclusive(promotion.target)
                if let orphan = promotion.renamedOrphan { leases.releaseExclusive(orphan) }
            case .set(let set, _): for target in set.targets { leases.releaseExclusive(target) }
            case .removed: leases.releaseExclusive(plan.steps.target(at: ends[at].number))
            case .confirmed, .notConfirmed: break
            }
        }
        mailbox.post(.promoted(ends))
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

/// The executing side of a run: takes its events, and passes on what is said to it.
final class RunControl: Sendable {
    private struct State {
        var execution: Execution?
        /// What was said to the run before it began, in order.
        var earlyInputs: [RunInput] = []
        /// Called when an end is requested, while something before the run's beginning is waited for.
        var endIsHeard: (@Sendable () -> Void)?
        var isFinished = false
        var earlySummary: Event?
        /// The callers that wait for the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// The events, until they are read.
    let events = EventQueue()

    /// Ends the run, now or as soon as it begins.
    func end(_ ending: RunEnding) { steer(.end(ending)) }

    /// Says something to the run, now or as soon as it begins.
    func steer(_ input: RunInput) {
        let (execution, endIsHeard) = state.withLock { state in
            if state.execution == nil, !state.isFinished { state.earlyInputs.append(input) }
            return (state.execution, input.isEnd ? state.endIsHeard : nil)
        }
        endIsHeard?()
        execution?.steer(input)
    }

    /// Notes the summary of a run that still has to release the engine.
    func note(_ summary: Event) { state.withLock { $0.earlySummary = summary } }

    /// The summary that was noted.
    var earlySummary: Event? { state.withLock { $0.earlySummary } }

    /// Sets the execution that carries out the run.
    func attach(_ execution: Execution) {
        let inputs = state.withLock { state in
            defer { state.earlyInputs = [] }
            state.execution = execution
            return state.earlyInputs
        }
        for input in inputs { execution.steer(input) }
    }

    /// Passes an event on.
    func send(_ event: Event) { events.send(event) }

    /// Passes events on, and leaves the list empty.
    func send(contentsOf events: inout [Event]) { self.events.send(contentsOf: &events) }

    /// Ends the events of a run that holds nothing any more.
    func finish(throwing error: (any Error)?) {
        let waiters = state.withLock { state in
            (state.execution, state.isFinished) = (nil, true)
            defer { state.waiters = [] }
            return state.waiters
        }
        events.finish(throwing: error)
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the run holds nothing any more, whether or not the task is cancelled.
    func waitForEnd(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { waiter in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiters.append(waiter) }
                return state.isFinished
            }
            if isFinished { waiter.resume() }
        }
    }

    /// Ends a run that could not begin; it still has a summary.
    func fail(_ error: any Error, root: String) {
        send(.failure(MirrorError(wrapping: error), root: root))
        finish(throwing: error)
    }
}

// MARK: Reading the events

extension RunControl {
    /// Ends the run if the reading task was cancelled; events sent by then are still read.
    fileprivate func heedCancellation() { if Task.isCancelled { endReading() } }

    /// Ends the run and its events, once.
    private func endReading() {
        if events.finish() { end(.interrupted(exit: 128 + SIGINT)) }
    }

    /// Waits for events; a cancellation of the task ends the run and its events.
    fileprivate func waitForEvents(isolation: isolated (any Actor)? = #isolation) async {
        await withTaskCancellationHandler {
            await events.wait()
        } onCancel: {
            endReading()
        }
    }
}

// MARK: Before the run begins

extension RunControl {
    /// In seconds.
    private static let century: Int64 = 3_155_760_000

    /// What work brings that may take for ever; nil if the run is to end or its time is over, or as soon as it is.
    ///
    /// The work's task is cancelled then, and not waited for. Throws what the work throws.
    func outcome<Value: Sendable>(
        until deadline: ContinuousClock.Instant?, isolation: isolated (any Actor)? = #isolation,
        of work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let (outcomes, outcome) = AsyncStream.makeStream(of: Result<Value, any Error>?.self)
        state.withLock { $0.endIsHeard = { outcome.yield(nil) } }
        defer { state.withLock { $0.endIsHeard = nil } }
        if isToEnd(by: deadline) { return nil }
        let working = Task {
            do { outcome.yield(.success(try await work())) } catch {
                outcome.yield(.failure(error))
            }
        }
        defer { working.cancel() }
        let waking = deadline.map { deadline in
            Task {
                // Swift's runtime traps at an instant whose nanoseconds are too many for 64 bits.
                let last = ContinuousClock.now.advanced(by: .seconds(RunControl.century))
                try? await Task.sleep(until: min(deadline, last), clock: .continuous)
                outcome.yield(nil)
            }
        }
        defer { waking?.cancel() }
        // Whatever comes after the first is not heard.
        for await first in outcomes {
            return isToEnd(by: deadline) ? nil : try first?.get()
        }
        return nil
    }

    /// Whether an end was requested before the run began, or its time is over.
    private func isToEnd(by deadline: ContinuousClock.Instant?) -> Bool {
        if let deadline, deadline <= .now { return true }
        return state.withLock { $0.earlyInputs.contains(where: \.isEnd) }
    }
}

extension RunInput {
    fileprivate var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}
