internal import Glibc
public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// A root and the operations on it: plan, execute, look up.
///
/// The name is not `Mirror`, which is Swift's own reflection type. A session finds the root when it
/// is made, and touches nothing until a plan is executed. While a plan is executed, the session
/// holds the root's lock; it may execute several plans at once. Planning and looking up take no
/// lock.
public actor MirrorSession {
    /// The root's absolute path.
    public nonisolated let root: String
    /// How the session works.
    public nonisolated let configuration: Configuration
    let location: RootLocation
    private var opening: Task<Engine, any Error>?
    /// The end of the previous engine, whose lock must be released first.
    private var closing: Task<Void, any Error>?
    private var users = 0
    private var isPaused = false
    var executions: [String: Execution] = [:]
    nonisolated let leases = FileLeases()
    var fetchedManifests: [String: FetchedManifest] = [:]

    /// Finds the root. Throws `MirrorError` with `rootUnusable`.
    ///
    /// The root is the given folder, else `$MIRROR_ROOT`, else the nearest folder above the current
    /// one that has `.mirror`, else the current one.
    public init(
        root: String? = nil, configuration: Configuration = Configuration()
    ) throws(MirrorError) {
        location = try RootLocation(root: root, surroundings: .ofThisProcess())
        self.root = location.path
        self.configuration = configuration
    }

    /// Plans the steps that make the tree match, with reasons; asks no server and changes nothing.
    ///
    /// Throws `MirrorError` with `manifestInvalid`, `inputOutput`, `indexNewer` or `cancelled`.
    public func plan(
        _ manifests: [Manifest], options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        for manifest in manifests { try manifest.refuseFlaws() }
        let (root, leases) = (root, leases)
        let (cancellation, meter) = (CancellationFlag(), ActivityMeter.current)
        return try await reading { view in
            try await withTaskCancellationHandler {
                try await Offload.run {
                    defer { meter?.end() }
                    let make = { (record: DecisionRecording?) in
                        let scan = try Scan(
                            manifests: manifests, options: options, root: view.root,
                            index: view.index, leases: leases, now: SystemClock.now(),
                            meter: meter,
                            isCancelled: { cancellation.isSet })
                        return try scan.plan(for: root, recording: record)
                    }
                    return try options.recording.map { try DecisionFile($0).write(make) }
                        ?? make(nil)
                }
            } onCancel: {
                cancellation.set()
            }
        }
    }

    /// Plans the steps that make the tree match one manifest.
    public func plan(
        _ manifest: Manifest, options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        try await plan([manifest], options: options)
    }

    /// Carries out a plan. The run begins at once; the returned value delivers its events.
    ///
    /// Failed resources are events. An error that ends the run is thrown when the events are read:
    /// `MirrorError` with `locked`, `deleteLimit`, `spaceLimit`, `noSpace`, `inputOutput` and the
    /// like.
    public nonisolated func execute(
        _ plan: Plan, options: RunOptions = RunOptions()
    ) -> Run {
        let control = RunControl()
        Task { await self.perform(plan, options, for: control) }
        return Run(control)
    }

    /// Makes the tree match a manifest: plans and executes under one lock.
    ///
    /// Returns the run's summary, which counts failed resources. Throws the error that ends the
    /// run.
    @discardableResult
    public func sync(
        _ manifest: Manifest, planning: PlanOptions = PlanOptions(),
        options: RunOptions = RunOptions()
    ) async throws -> Summary {
        try await withPlan(of: [manifest], options: planning) { plan in
            let run = self.execute(plan, options: options)
            return try await withTaskCancellationHandler {
                var summary = Summary()
                for try await event in run {
                    if case .summary(let last) = event.body { summary = last }
                }
                // A cancelled task stops reading before the summary.
                if Task.isCancelled { throw MirrorError(wrapping: CancellationError()) }
                return summary
            } onCancel: {
                run.cancel()
            }
        }
    }

    /// Holds the root's lock while the body runs.
    ///
    /// So the body can plan, and execute the plan before another process changes the tree.
    public func withLock<Value: Sendable>(
        waitingSeconds wait: Int64 = 0, _ body: () async throws -> Value
    ) async throws -> Value {
        try await using(try await acquire(wait: wait)) { _ in try await body() }
    }

    /// Sentences for people about the state of the root when the lock was taken.
    ///
    /// They report, for example, a damaged index or a network file system. They are empty while no
    /// lock is held.
    public func notices() async throws -> [String] { try await opening?.value.notices ?? [] }
}

// MARK: Transfers under way

extension MirrorSession {
    /// Stops asking for a resource's bytes; nothing happens when it is not being transferred.
    public func pause(_ target: Target) { steer(.pause(target)) }

    /// Resumes asking for a resource's bytes.
    public func resume(_ target: Target) { steer(.resume(target)) }

    /// Ends a resource's transfer; its part is kept for the next run, or deleted.
    public func cancel(_ target: Target, discardingPart: Bool = false) {
        steer(.cancel(target, discardingPart: discardingPart))
    }

    /// Stops asking for bytes until `resumeAll`, also for runs that begin later.
    public func pauseAll() {
        isPaused = true
        steer(.pause(nil))
    }

    /// Resumes asking for bytes.
    public func resumeAll() {
        isPaused = false
        steer(.resume(nil))
    }

    /// Ends all runs of this session; parts are kept, or deleted.
    public func cancelAll(discardingParts: Bool = false) {
        steer(.end(.interrupted(exit: 128 + SIGINT), discardingParts: discardingParts))
    }

    func steer(_ input: RunInput) { for run in executions.values { run.steer(input) } }
}

// MARK: Runs

extension MirrorSession {
    private func perform(_ plan: Plan, _ options: RunOptions, for run: RunControl) async {
        var ended: (execution: Execution, summary: Summary, totals: RunTotals)?
        do {
            try await using(try await acquire(wait: 0)) { engine in
                if !options.isOffline, plan.beginsWithRequests { engine.expectRequests() }
                var requests = try PreparedRequests(plan, secrets: options.secrets)
                if let credentials = options.credentials, !options.isOffline {
                    try await requests.supply(for: plan, by: credentials)
                }
                var options = options
                options.paused.formUnion(try PausedTargets(in: engine.root))
                let execution = try Execution(
                    plan: plan, options: options, configuration: configuration, engine: engine,
                    requests: requests, leases: leases, control: run)
                if isPaused { execution.steer(.pause(nil)) }
                executions[execution.identifier] = execution
                run.attach(execution)
                let fetched = fetchedManifests(of: plan)
                async let copies = firstCopies(of: fetched, for: plan, in: engine)
                let (summary, totals) = try await Offload.run { execution.run() }
                run.note(execution.event(.summary(summary), totals: totals))
                ended = (execution, summary, totals)
                executions[execution.identifier] = nil
                try await remember(fetched, of: plan, in: engine, copies: await copies)
            }
        } catch {
            guard ended != nil else { return run.fail(error, root: root) }
            ended?.summary.enter(late: MirrorError(wrapping: error))
        }
        guard let (execution, summary, totals) = ended else { return }
        run.send(execution.event(.summary(summary), totals: totals))
        run.finish(throwing: summary.error)
    }

    /// Refuses a folder that is no root yet, so that nothing is made in it by mistake.
    ///
    /// Every verb but those that fetch calls this first. Throws `MirrorError` with `rootUnusable`.
    public nonisolated func requireRoot() throws(MirrorError) {
        if try location.openIfThere()?.isRoot == true { return }
        throw MirrorError(
            .rootUnusable,
            "\(root): no root here: it has no .mirror.",
            remedy: Remedy(.makeRoot)
        )
    }

    /// Passes the root and the index to the body for reading.
    ///
    /// If there is an engine, its root and index are used, and it stays open meanwhile.
    func reading<Value: Sendable>(
        _ body: (TreeView) async throws -> Value
    ) async throws -> Value {
        // If another process has the lock, there is no engine. Reading needs none.
        if opening != nil, let engine = try? await acquire(wait: 0) {
            return try await using(engine) {
                try await body(TreeView(root: $0.root, index: $0.index))
            }
        }
        let location = location
        let view = try await Offload.run {
            guard let root = try location.openIfThere() else {
                return TreeView(root: nil, index: nil)
            }
            return TreeView(root: root, index: try IndexOpening.openForReading(root).index)
        }
        // The index is closed here. Its last reference may be dropped on another thread, after the
        // process has ended, and then the files of SQLite's log and shared memory stay.
        let value: Value
        do { value = try await body(view) } catch {
            try? await Offload.run { try view.index?.close(now: SystemClock.now()) }
            throw error
        }
        try await Offload.run { try view.index?.close(now: SystemClock.now()) }
        return value
    }

    /// Passes the engine to the body; opens it if necessary, and keeps it open meanwhile.
    func withEngine<Value: Sendable>(
        waitingSeconds wait: Int64, _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        try await using(try await acquire(wait: wait), body)
    }

    /// Notes that a file was used, if this session has the index open for writing.
    func noteUse(of target: Target) async {
        // A use that is not noted may cost a request later, and nothing now.
        guard let engine = try? await opening?.value else { return }
        try? engine.index.changes.noteUse(of: target, at: SystemClock.now())
    }

    /// Passes an acquired engine to a body, and releases it afterwards.
    private func using<Value: Sendable>(
        _ engine: Engine, _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        let value: Value
        do { value = try await body(engine) } catch {
            // The first error is the one to throw.
            try? await release()
            throw error
        }
        try await release()
        return value
    }

    /// The engine; the first caller that needs it opens it.
    private func acquire(wait: Int64) async throws -> Engine {
        users += 1
        if let opening {
            do { return try await opening.value } catch {
                users -= 1
                throw error
            }
        }
        let (location, configuration, closing) = (location, configuration, closing)
        let task = Task {
            // The caller that closed the previous engine got its error.
            _ = try? await closing?.value
            let root = try await Offload.run { try location.open() }
            let lock = try await RootLock.acquire(
                root, now: SystemClock.now(), wait: .seconds(wait))
            do {
                return try await Offload.run {
                    try Engine(root: root, lock: lock, configuration: configuration)
                }
            } catch {
                // The next try of this process must not find it taken.
                lock.release()
                throw error
            }
        }
        opening = task
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            users -= 1
            opening = nil
            throw error
        }
    }

    /// Releases the engine, and closes it if it has no other user.
    private func release() async throws {
        users -= 1
        guard users == 0, let task = opening else { return }
        opening = nil
        let closing = Task { try await task.value.close() }
        self.closing = closing
        try await closing.value
    }
}
