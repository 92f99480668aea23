internal import Glibc
public import MirrorModel

/// A root, and what can be done with it: plan, execute, look up.
///
/// The name is not `Mirror`, which is Swift's own reflection type. A session opens the root when it
/// is made and touches nothing until a plan is executed; while one is, it holds the root's lock, and
/// several may be under way at once in one session. Planning and looking up take no lock.
public actor MirrorSession {
    /// The root's absolute path.
    public nonisolated let root: String
    /// How the session works.
    public nonisolated let configuration: Configuration
    let location: RootLocation
    private var opening: Task<Engine, any Error>?
    private var users = 0
    private var executions: [String: Execution] = [:]
    nonisolated let leases = FileLeases()
    var fetchedManifests: [String: FetchedManifest] = [:]

    /// Finds the root: the given folder, else `$MIRROR_ROOT`, else the nearest folder above the
    /// current one that has `.mirror`, else the current one. Throws `MirrorError` with `rootUnusable`.
    public init(
        root: String? = nil, configuration: Configuration = Configuration()
    ) throws(MirrorError) {
        location = try RootLocation(root: root, surroundings: .ofThisProcess())
        self.root = location.path
        self.configuration = configuration
    }

    /// Says what would make the tree match, and why; no server is asked and nothing is changed.
    ///
    /// Throws `MirrorError` with `manifestInvalid`, `inputOutput`, `indexNewer` or `cancelled`.
    public func plan(
        _ manifests: [Manifest], options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        for manifest in manifests { try manifest.refuseFlaws() }
        let engine = try await opening?.value
        let location = location
        let cancellation = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await Offload.run {
                let directory = try engine?.root ?? location.openIfThere()
                let index =
                    try engine?.index ?? directory.map { try Index.openForReading($0).index }
                let survey = try Survey(
                    manifests: manifests, options: options, root: directory, index: index,
                    now: SystemClock.now(), isCancelled: { cancellation.isSet })
                return try survey.plan(for: location.path)
            }
        } onCancel: {
            cancellation.set()
        }
    }

    /// Says what would make the tree match one manifest.
    public func plan(
        _ manifest: Manifest, options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        try await plan([manifest], options: options)
    }

    /// Carries out a plan. The run begins at once; its events are read from what is returned.
    ///
    /// Failed resources are events. What ends the run is thrown when the events are read:
    /// `MirrorError` with `locked`, `deleteLimit`, `spaceLimit`, `noSpace`, `inputOutput` and the like.
    public nonisolated func execute(
        _ plan: Plan, options: RunOptions = RunOptions()
    ) -> Run {
        let (run, control) = Run.begin()
        Task { await self.perform(plan, options, for: control) }
        return run
    }

    /// Makes the tree match a manifest: plans and executes under one lock.
    ///
    /// Returns the run's summary; a resource that failed is a number there. Throws what ends the run.
    @discardableResult
    public func sync(
        _ manifest: Manifest, planning: PlanOptions = PlanOptions(),
        options: RunOptions = RunOptions()
    ) async throws -> Summary {
        try await withLock {
            let plan = try await self.plan(manifest, options: planning)
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

    /// Holds the root's lock while the body runs, so that what is planned in it can be executed
    /// before any other process changes the tree.
    public func withLock<Value: Sendable>(
        waitingSeconds wait: Int64 = 0, _ body: () async throws -> Value
    ) async throws -> Value {
        _ = try await acquire(wait: wait)
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try await release()
        return try result.get()
    }

    /// Sentences for people about what was found when the lock was taken: a damaged index, a network
    /// file system; empty while no lock is held.
    public func notices() async throws -> [String] { try await opening?.value.notices ?? [] }
}

// MARK: Transfers under way

extension MirrorSession {
    /// Stops asking for a resource's bytes; nothing happens when it is not being transferred.
    public func pause(_ target: Target) { withJob(target) { $0.pause([$1]) } }

    /// Goes on asking for a resource's bytes.
    public func resume(_ target: Target) { withJob(target) { $0.resume([$1]) } }

    /// Ends a resource's transfer; its part is kept for the next run, or deleted.
    public func cancel(_ target: Target, discardingPart: Bool = false) {
        withJob(target) { $0.cancel([$1], discardingParts: discardingPart) }
    }

    /// Stops asking for bytes at all.
    public func pauseAll() { for run in executions.values { run.engine.pause(run.jobs) } }

    /// Goes on asking for bytes.
    public func resumeAll() { for run in executions.values { run.engine.resume(run.jobs) } }

    /// Ends all runs of this session; parts are kept, or deleted.
    public func cancelAll(discardingParts: Bool = false) {
        for run in executions.values {
            if discardingParts { run.engine.cancel(run.jobs, discardingParts: true) }
            run.end(.interrupted(exit: 128 + SIGINT))
        }
    }

    private func withJob(_ target: Target, _ body: (Engine, Int) -> Void) {
        for run in executions.values {
            if let job = run.job(for: target) { return body(run.engine, job) }
        }
    }
}

// MARK: Runs

extension MirrorSession {
    private func perform(_ plan: Plan, _ options: RunOptions, for run: RunControl) async {
        do {
            let engine = try await acquire(wait: 0)
            let summary: Summary
            do {
                var requests = try PreparedRequests(plan, secrets: options.secrets)
                if let credentials = options.credentials, !options.isOffline {
                    try await requests.supply(for: plan, by: credentials)
                }
                let execution = Execution(
                    plan: plan, options: options, configuration: configuration, engine: engine,
                    requests: requests, leases: leases, emit: { run.send($0) })
                executions[execution.identifier] = execution
                run.attach(execution)
                summary = try await Offload.run { execution.run() }
                executions[execution.identifier] = nil
                try await remember(plan.manifests, in: engine)
                try await release()
            } catch {
                try await release()
                throw error
            }
            run.finish(throwing: summary.error)
        } catch {
            run.fail(error, root: root)
        }
    }

    /// The engine that is open, or being opened; nil while no plan is executed.
    func openEngine() async throws -> Engine? { try await opening?.value }

    /// The engine, opened by the first that needs it.
    private func acquire(wait: Int64) async throws -> Engine {
        users += 1
        if let opening {
            do { return try await opening.value } catch {
                users -= 1
                throw error
            }
        }
        let (location, configuration) = (location, configuration)
        let task = Task {
            let root = try await Offload.run { try location.open() }
            let lock = try await RootLock.acquire(
                root, now: SystemClock.now(), wait: .seconds(wait))
            return try await Offload.run {
                try Engine(root: root, lock: lock, configuration: configuration)
            }
        }
        opening = task
        do { return try await task.value } catch {
            users -= 1
            opening = nil
            throw error
        }
    }

    /// Closes the engine when nobody needs it any more.
    private func release() async throws {
        users -= 1
        guard users == 0, let task = opening else { return }
        opening = nil
        let engine = try await task.value
        try await engine.close()
    }
}
