internal import Glibc
internal import Synchronization

/// A plan under way: a sequence of its events, the last of which is the summary.
///
/// The events can be read once, by one task: a second one gets an error with `usage`. Leaving the
/// loop that reads them ends the run; parts are kept. So does cancelling its task, after which the
/// loop ends without an error. `finish` returns when the run has ended. `cancel` also ends the run, but
/// the events continue until the summary.
public struct Run: AsyncSequence, Sendable {
    /// An event of the run.
    public typealias Element = Event
    /// The error that ended the run early: `MirrorError`, or `ManifestError`.
    public typealias Failure = any Error

    private let handle: Handle
    private var control: RunControl { handle.control }

    init(_ control: RunControl) { handle = Handle(control, isReader: false) }

    /// Ends the run early; parts are kept, and the summary carries this exit code.
    ///
    /// Returns false, without an effect, if the run had ended before.
    @discardableResult
    public func cancel(exit: Int32 = 130) -> Bool { control.end(.interrupted(exit: exit)) }

    /// Stops requesting bytes until `resume`. Returns false if the run had ended before.
    @discardableResult
    public func pause() -> Bool { control.steer(.pause(nil)) }

    /// Requests the bytes of all targets again. Returns false if the run had ended before.
    @discardableResult
    public func resume() -> Bool { control.steer(.resume(nil)) }

    /// Stops requesting a target's bytes; its part is kept.
    ///
    /// Returns false, without an effect, if the run has ended or gives the target no new bytes.
    @discardableResult
    public func pause(_ target: Target) -> Bool { control.steer(.pause(target), at: target) }

    /// Requests a target's bytes again.
    ///
    /// Returns false, without an effect, if the run has ended or gives the target no new bytes.
    @discardableResult
    public func resume(_ target: Target) -> Bool { control.steer(.resume(target), at: target) }

    /// Ends a target's transfer. Its part is kept for the next run; `discardingPart` deletes it.
    ///
    /// Returns false, without an effect, if the run has ended or gives the target no new bytes.
    @discardableResult
    public func cancel(_ target: Target, discardingPart: Bool = false) -> Bool {
        control.steer(.cancel(target, discardingPart: discardingPart), at: target)
    }

    /// The run's bytes and transfers so far, as of its latest event.
    ///
    /// They can be read at any time, also without reading the events.
    public var totals: RunTotals { control.totals }

    /// The summary, available as soon as the last resource has ended.
    ///
    /// The event with the summary comes later, once the index is closed and the lock is released. A
    /// slow disk may delay both.
    public var earlySummary: Event? { control.earlySummary }

    /// Waits until the run has ended and has released all that it held, the root's lock included.
    ///
    /// So a program that has left the loop knows when the next run may begin. The lock stays held
    /// if another run of the session, or a body of `withLock`, is under way. A cancelled task waits
    /// too: a run that was asked to end does so within a second. An error that ended the run is
    /// thrown where the events are read.
    public func finish(isolation: isolated (any Actor)? = #isolation) async {
        await control.waitForFinish()
    }

    /// The events of the run.
    public func makeAsyncIterator() -> Iterator {
        control.events.noteReader()
        return Iterator(Handle(control, isReader: true))
    }

    /// Reads the events. The run ends when its reader is released.
    public struct Iterator: AsyncIteratorProtocol {
        private let handle: Handle
        /// `taken`: events that were taken from the queue. `position`: the first event not yet
        /// returned.
        private var taken: [Event] = []
        private var position = 0

        fileprivate init(_ handle: Handle) { self.handle = handle }

        /// The next event. Returns nil after the summary.
        public mutating func next() async throws -> Event? {
            handle.control.heedCancellation()
            if position == taken.count { try await refill() }
            return read()
        }

        /// The next event. Returns nil after the summary.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            handle.control.heedCancellation()
            if position == taken.count { try await refill(isolation: actor) }
            return read()
        }

        /// All queued events, at least one. Returns nil after the summary.
        ///
        /// Each call of an asynchronous function may change threads. A reader of thousands of
        /// events a second notices the cost.
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

        /// Takes all queued events, and waits while the queue is empty. After the last event it
        /// takes none.
        private mutating func refill(isolation: isolated (any Actor)? = #isolation) async throws {
            let control = handle.control
            while true {
                // `take` may throw. The events that were returned already must not be returned
                // again after the error.
                (position, taken) = (0, [])
                taken = try control.events.take()
                if !taken.isEmpty || control.events.isOver { return }
                try await control.waitForEvents()
            }
        }
    }

    /// Keeps a run going as long as a caller holds the run, or may ask for its next event.
    ///
    /// `deinit` ends the run if the run has no reader, or if this handle was the reader's. After it
    /// leaves the loop, a caller may still hold the run by its other handle.
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
    /// If `exit` is nil, the error determines the exit code.
    public static func failure(
        _ error: MirrorError, root: String, shard: String? = nil, exit: Int32? = nil,
        seconds: Double = 0
    ) -> Event {
        var summary = Summary()
        summary.root = root
        summary.shard = shard
        summary.error = error
        summary.seconds = seconds
        summary.exit = exit ?? error.code.exitCode
        return .standingAlone(summary)
    }

    /// A new identifier for a run: 26 characters that sort by time (ULID,
    /// https://github.com/ulid/spec).
    ///
    /// The identifier encodes 48 bits of milliseconds and 10 random bytes in Crockford's base 32.
    static func runIdentifier() -> String {
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
/// Other threads post messages to the run's thread and read none of its state.
final class Execution: Sendable {
    let plan: Plan
    let options: RunOptions
    let configuration: Configuration
    let engine: Engine
    private let prepared: PreparedRequests
    /// Asks the program for new credentials. `nil` if the program supplies none, or the run is
    /// offline.
    let credentials: RenewedCredentials?
    /// The files that the run's caller reads. The run must not wait for them: the caller waits for
    /// the run.
    let heldByCaller: [FileLease]
    /// `identifier`: the run's ULID; `number`: its number among the runs of the engine.
    let identifier: String
    let number: Int
    /// Receives the progress of work that is no transfer. `nil` if no code listens.
    let meter = ActivityMeter.current
    let mailbox = Mailbox<RunMessage>()
    /// Receives the run's events, and sends a caller's inputs to the run.
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
            options.offline
            ? nil : options.credentials.map { RenewedCredentials(requests, from: $0) }
        self.control = control
        heldByCaller = FileLease.held
        identifier = Event.runIdentifier()
        number = engine.runs.nextNumber()
    }

    /// Executes the plan. Returns the summary, and the totals of the transfers.
    ///
    /// The call blocks the calling thread until the run is over. The session sends the summary as
    /// an event later, when everything that the run used is closed.
    func run() -> (Summary, RunTotals) {
        defer { credentials?.stop() }
        return RunDriver(self).run()
    }

    /// Whether a kept file may have changed since the plan looked at it, so that a second look
    /// pays.
    ///
    /// With a million files a second look takes noticeable time, and right after the first look it
    /// finds no change. So a call that makes its own plan skips the second look until five seconds
    /// after the plan's first look. Scans that take longer, or events that are read slowly, cost
    /// more than the second look.
    var isLookOld: Bool {
        guard options.followsPlanning, let looked = plan.looked else { return true }
        return looked.duration(to: .now) > .seconds(5)
    }

    /// Sends an input to the run; has no effect after the run's end.
    func steer(_ input: RunInput) { mailbox.post(.inputs([input])) }

    /// Makes an event of this run. The default time is now.
    func event(
        _ body: Event.Body, at time: Instant = SystemClock.now(), totals: RunTotals
    ) -> Event {
        Event(run: identifier, time: time, body: body, totals: totals)
    }

    /// Makes the download that brings the bytes of a step, and of `others` with the same bytes.
    ///
    /// Sources that only one of them names follow those of the step.
    func download(
        _ number: Int, for step: Step, with others: [Int], storedMediaType: String?,
        keepsPart: Bool, isUrgent: Bool, spending allowance: ByteAllowance?
    ) -> Download {
        // Only an orphan's step has no resource, and such a step is a removal.
        guard var resource = plan.resource(of: step) else {
            preconditionFailure("a transfer without a resource")
        }
        for other in others {
            let sources = plan.resource(of: plan.steps[other])?.sources ?? []
            resource.mirrors += sources.filter { !resource.sources.contains($0) }
        }
        let requests = credentials?.requests ?? prepared
        let stored = plan.storedFiles(of: step).map(PreparedSource.init)
        let request = requests.request(
            for: resource, stored: stored, withoutStores: plan.awaitsName(step))
        // A run without servers begins only what files can give.
        let sources =
            options.offline
            ? request.sources.filter { $0.url.scheme == .file } : request.sources
        return Download(
            id: RunRegister.id(of: self.number, position: number),
            target: step.target, sources: sources, postBody: request.body,
            expectation: Expectation(of: resource, replacing: storedMediaType),
            local: step.local, part: step.part,
            priority: resource.priority,
            isDecisive: options.failFast && !resource.isOptional,
            keepsPart: keepsPart, renew: credentials?.renewal, allowance: allowance,
            isUrgent: isUrgent)
    }
}

extension Execution: PromotionReceiver {
    /// Reports durable promotions to the run, and wakes the readers that wait for promoted files.
    ///
    /// The readers are woken even if the run is over.
    func promoted(_ works: [PromotionWork], _ results: [RunInput]) {
        for work in works { engine.locks.unlock(work.lockedTargets) }
        mailbox.post(.inputs(results))
    }
}

extension RunRules {
    /// The rules that follow from a run's options and its session's configuration.
    init(_ options: RunOptions, _ configuration: Configuration) {
        self.init()
        isOffline = options.offline
        acceptsStale = options.staleOK
        longestStale = options.maxStale?.wholeSeconds
        stopsAtFirstFailure = options.failFast
        deadline = options.deadline?.wholeSeconds
        hasBudget = options.permission.budget != nil
        looksAtKeptLast = !options.reportsKept
        onConflict = configuration.onConflict
        paused = options.paused
        window = max(256, 8 * configuration.jobs)
    }
}

/// A run as its callers see it: holds its events and sends the callers' inputs to the run.
final class RunControl: Sendable {
    private struct State {
        var execution: Execution?
        /// The inputs that arrived before the run began, in order.
        var earlyInputs: [RunInput] = []
        /// `steer` calls this closure when a caller ends a run that still waits to begin.
        var endIsHeard: (@Sendable () -> Void)?
        var isFinished = false
        var earlySummary: Event?
        var totals = RunTotals()
        /// The callers of `Run.finish` that still wait.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let plan: Plan
    private let state = Mutex(State())
    /// The events that were not read yet.
    let events = EventQueue()

    init(_ plan: Plan) { self.plan = plan }

    /// Ends the run, now or as soon as it begins. Returns false if the run had ended before.
    @discardableResult
    func end(_ ending: RunEnding) -> Bool { steer(.end(ending)) }

    /// Sends an input to the run, now or as soon as the run begins.
    ///
    /// Returns false if the run had ended before.
    @discardableResult
    func steer(_ input: RunInput) -> Bool {
        let (execution, endIsHeard, hasEnded) = state.withLock { state in
            if state.execution == nil, !state.isFinished { state.earlyInputs.append(input) }
            let hasEnded = state.isFinished || state.earlySummary != nil
            return (state.execution, input.isEnd ? state.endIsHeard : nil, hasEnded)
        }
        endIsHeard?()
        execution?.steer(input)
        return !hasEnded
    }

    /// Sends an input about a target to the run, if the run gives the target new bytes.
    ///
    /// Returns false if it does not, or if the run had ended before.
    func steer(_ input: RunInput, at target: Target) -> Bool {
        guard let position = plan.steps.position(of: target) else { return false }
        return switch plan.steps[position].means {
        case .transfer, .copy, .move: steer(input)
        case .nothing, .adoption, .removal: false
        }
    }

    /// The totals of the latest event.
    var totals: RunTotals { state.withLock { $0.totals } }

    /// Stores the summary before the run releases the engine, for `earlySummary`.
    func note(_ summary: Event) { state.withLock { $0.earlySummary = summary } }

    /// The summary, as soon as `note` has stored it.
    var earlySummary: Event? { state.withLock { $0.earlySummary } }

    /// Sets the execution of the run, and sends it the inputs that arrived before.
    func attach(_ execution: Execution) {
        let inputs = state.withLock { state in
            defer { state.earlyInputs = [] }
            state.execution = execution
            return state.earlyInputs
        }
        for input in inputs { execution.steer(input) }
    }

    /// Queues an event for the reader.
    func send(_ event: Event) {
        state.withLock { $0.totals = event.totals }
        events.send(event)
    }

    /// Queues events for the reader, and empties the list.
    func send(contentsOf events: inout [Event]) {
        if let last = events.last { state.withLock { $0.totals = last.totals } }
        self.events.send(contentsOf: &events)
    }

    /// Ends the events, after the run has released everything, and wakes the callers of
    /// `waitForFinish`.
    func finish(throwing error: (any Error)?) {
        let waiters = state.withLock { state in
            (state.execution, state.isFinished) = (nil, true)
            defer { state.waiters = [] }
            return state.waiters
        }
        events.finish(throwing: error)
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the run has released everything. A cancellation of the task does not end the
    /// wait.
    func waitForFinish(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { waiter in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiters.append(waiter) }
                return state.isFinished
            }
            if isFinished { waiter.resume() }
        }
    }

    /// Ends a run that could not begin. The run's only event is its summary.
    func fail(_ error: any Error, in session: MirrorSession) {
        send(
            .failure(
                MirrorError(wrapping: error), root: session.root, shard: session.shard.name))
        finish(throwing: error)
    }
}

// MARK: Reading the events

extension RunControl {
    /// Ends the run if the reading task was cancelled. Events that were queued before are still
    /// read.
    fileprivate func heedCancellation() { if Task.isCancelled { endReading() } }

    /// Ends the events, and ends the run if its events had not ended before.
    private func endReading() {
        if events.finish() { end(.interrupted(exit: 128 + SIGINT)) }
    }

    /// Waits for events. If the task is cancelled, ends the run and its events.
    fileprivate func waitForEvents(isolation: isolated (any Actor)? = #isolation) async throws {
        try await withTaskCancellationHandler {
            try await events.wait()
        } onCancel: {
            endReading()
        }
    }
}

// MARK: Before the run begins

extension RunControl {
    /// A hundred years, in seconds.
    private static let century: Int64 = 3_155_760_000

    /// The result of work that may take for ever, before the run begins.
    ///
    /// Returns nil as soon as the run must end or the deadline has passed. The task of the work is
    /// then cancelled, and the call does not wait for it. Throws what the work throws.
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
        // The first outcome decides; later ones are ignored.
        for await first in outcomes {
            return isToEnd(by: deadline) ? nil : try first?.get()
        }
        return nil
    }

    /// Whether a caller has ended the run before it began, or the deadline has passed.
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
