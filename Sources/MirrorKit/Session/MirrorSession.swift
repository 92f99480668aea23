internal import Glibc
public import MirrorModel
internal import MirrorSystem
internal import Synchronization

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
    /// The manifests that the root remembers, and how manifests are read.
    public nonisolated let manifests: ManifestRegister
    /// What earlier runs did, and why.
    public nonisolated let history: RunHistory
    nonisolated let location: RootLocation
    nonisolated let engine: SharedEngine
    /// The runs that were asked for and have not begun: `execute` adds them before it returns.
    nonisolated let pending = Mutex<[ObjectIdentifier: RunControl]>([:])
    /// The runs under way, by their identifiers.
    var underWay: [String: Execution] = [:]
    /// Whether runs ask for no bytes, those that begin later included.
    var isPaused = false

    /// Finds the root. Throws `MirrorError` with `rootUnusable`, or with `usage` for a number of the
    /// configuration that is out of its range.
    ///
    /// The root is the given folder, else `$MIRROR_ROOT`, else the nearest folder above the current
    /// one that has `.mirror`, else the current one.
    public init(
        root: String? = nil, configuration: Configuration = Configuration()
    ) throws(MirrorError) {
        try configuration.validate()
        location = try RootLocation(root: root)
        self.root = location.path
        self.configuration = configuration
        engine = SharedEngine(location, configuration)
        manifests = ManifestRegister(root: location.path, configuration, engine: engine)
        history = RunHistory(engine)
    }

    /// Plans the steps that make the tree match, with reasons; asks no server and changes nothing.
    ///
    /// Throws `MirrorError` with `manifestInvalid`, `usage`, `inputOutput`, `indexNewer` or `cancelled`.
    public func plan(
        _ manifests: [Manifest], options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        let (root, meter) = (root, ActivityMeter.current)
        return try await engine.scan { view, isCancelled in
            defer { meter?.end() }
            let scan = try Scan(
                manifests: manifests, options: options, root: view.root, index: view.index,
                now: SystemClock.now(), meter: meter, isCancelled: isCancelled)
            return try scan.plan(for: root)
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
    /// Every file that the plan leaves as it is, is looked at again; one that was changed or removed since
    /// has failed, with `sourceChanged`. A plan that was made for another root is refused with
    /// `rootUnusable`. Failed resources are events. An error that ends the run is thrown when the events are read:
    /// `MirrorError` with `locked`, `deleteLimit`, `spaceLimit`, `noSpace`, `inputOutput` and the
    /// like.
    public nonisolated func execute(
        _ plan: Plan, options: RunOptions = RunOptions()
    ) -> Run {
        let control = RunControl()
        pending.withLock { $0[ObjectIdentifier(control)] = control }
        var options = options
        options.began = options.began ?? .now
        Task { [options] in await self.perform(plan, options, for: control) }
        return Run(control)
    }

    /// Makes the tree match a manifest: plans and executes under one lock.
    ///
    /// Returns the run's summary, which counts failed resources. Throws the error that ends the
    /// run. A cancelled task throws once the run has ended and holds nothing any more.
    @discardableResult
    public func sync(
        _ manifest: Manifest, planning: PlanOptions = PlanOptions(),
        options: RunOptions = RunOptions()
    ) async throws -> Summary {
        try options.validate()
        var options = options
        options.followsPlanning = true
        return try await withPlan(of: [manifest], options: planning) { [options] plan in
            let run = self.execute(plan, options: options)
            var summary = Summary()
            for try await event in run {
                if case .summary(let last) = event.body { summary = last }
            }
            // A cancelled task stops reading before the run has ended.
            await run.waitForEnd()
            if Task.isCancelled { throw MirrorError(wrapping: CancellationError()) }
            return summary
        }
    }

    /// Holds the root's lock while the body runs.
    ///
    /// So the body can plan, and execute the plan before another process changes the tree. Throws
    /// `MirrorError` with `inputOutput` for a damaged index: only a plan makes a new one.
    public func withLock<Value: Sendable>(
        waitingSeconds wait: Int64 = 0, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        try await engine.requireSoundIndex()
        return try await engine.using(waitingSeconds: wait) { _ in
            // A closure runs where its caller does only if it captures the parameter (SE-0420).
            _ = isolation
            return try await body()
        }
    }

    /// Plans while the root's lock is held, and passes the plan to the body under the same lock.
    ///
    /// If the index proves to be damaged while the plan is made, it is moved aside and the plan is
    /// made again: nothing was done yet. `before` is called whenever the lock was taken. Throws as
    /// `plan` does, and what the body throws.
    public func withPlan<Value: Sendable>(
        of manifests: [Manifest], options: PlanOptions = PlanOptions(),
        waitingSeconds wait: Int64 = 0, isolation: isolated (any Actor)? = #isolation,
        before: () async throws -> Void = {}, _ body: (Plan) async throws -> Value
    ) async throws -> Value {
        var hasSeenDamage = false
        while true {
            do {
                // The lock was given up for a moment: another run may have it for as long.
                let wait = hasSeenDamage ? max(wait, 5) : wait
                return try await engine.using(waitingSeconds: wait) { engine in
                    // A closure runs where its caller does only if it captures the parameter (SE-0420).
                    _ = isolation
                    try await before()
                    let plan: Plan
                    do { plan = try await self.plan(manifests, options: options) } catch {
                        if hasSeenDamage || !engine.index.hasSeenDamage { throw error }
                        throw IndexError.damaged("while planning")
                    }
                    return try await body(plan)
                }
            } catch is IndexError {
                // The engine that is closed now left a mark: the next one moves the index aside, or looks at it.
                hasSeenDamage = true
            }
        }
    }

    /// Sentences for people about the state of the root when the lock was taken.
    ///
    /// They report, for example, a damaged index or a network file system. They are empty while no
    /// lock is held.
    public func notices() async -> [String] { await engine.current()?.notices ?? [] }

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
}

// MARK: Transfers under way

extension MirrorSession {
    /// Stops asking for a resource's bytes, also in runs of `execute` that have not begun.
    ///
    /// Nothing happens when no run has a step for it.
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

    /// Ends all runs of this session, those of `execute` included that have not begun; parts are kept, or
    /// deleted.
    ///
    /// What has no plan yet, such as a `sync` that waits for the lock, ends when its task is cancelled.
    public func cancelAll(discardingParts: Bool = false) {
        steer(.end(.interrupted(exit: 128 + SIGINT), discardingParts: discardingParts))
    }

    /// The targets that are paused in this root until further notice.
    ///
    /// Throws `MirrorError` with `rootUnusable` or `inputOutput`.
    public nonisolated func pausedTargets() throws -> PausedTargets {
        try PausedTargets(at: location)
    }

    /// Pauses a target, or all of them, in this run and in later ones; transfers under way end, and
    /// their parts are kept.
    ///
    /// Throws `MirrorError` with `rootUnusable`, `inputOutput`, `locked` or `noSpace`.
    public func putAside(_ target: Target?) async throws {
        try await Offload.run { [location] in
            try PausedTargets.change(at: location) { $0.pause(target) }
        }
        steer(.putAside(target))
    }

    /// Ends such a pause, from the next run on; returns false if there was none.
    ///
    /// Throws `MirrorError` with `rootUnusable`, `inputOutput`, `locked` or `noSpace`.
    public func takeUp(_ target: Target?) async throws -> Bool {
        try await Offload.run { [location] in
            try PausedTargets.change(at: location) { $0.resume(target) }
        }
    }

    /// The given targets for which a run of this session has a step.
    package func fetched(among targets: [Target]) -> [Target] { targets.filter(fetches) }
}
