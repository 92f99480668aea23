internal import Glibc
internal import Synchronization

/// A root and the operations on it: plan, execute, look up.
///
/// The name is not `Mirror`, which is Swift's own reflection type. A session finds the root when it
/// is made, and changes nothing until a plan is executed. A session may execute several plans at
/// once, and holds the root's lock during this time. Planning and looking up take no lock.
public actor MirrorSession {
    /// The root's absolute path.
    public nonisolated let root: String
    /// How the session works.
    public nonisolated let configuration: Configuration
    /// The manifests that the root remembers, and how manifests are read.
    package nonisolated let manifests: ManifestRegister
    /// What earlier runs did, and why.
    package nonisolated let history: RunHistory
    nonisolated let location: RootLocation
    /// The part of all targets that this session has.
    nonisolated var shard: Shard { location.shard }
    /// That part as text. `nil` means all targets.
    package nonisolated var shardName: String? { shard.name }
    nonisolated let engine: SharedEngine
    /// Runs that have not begun. `execute` adds them before it returns.
    nonisolated let pending = Mutex<[ObjectIdentifier: RunControl]>([:])
    /// The runs under way, by their identifiers.
    var underWay: [String: Execution] = [:]
    /// Whether runs request no bytes, also runs that begin later.
    var isPaused = false

    /// Makes a session of a root.
    ///
    /// The root is the given folder, else `$MIRROR_ROOT`. Otherwise it is the nearest folder above
    /// the current one that has `.mirror`, else the current one. Throws `MirrorError` with
    /// `rootUnusable`, or with `usage` for a number of the configuration out of its range.
    public init(
        root: String? = nil, configuration: Configuration = Configuration()
    ) throws(MirrorError) {
        try configuration.validate()
        var location = try RootLocation(root: root)
        location.shard = try configuration.shard.map(Shard.init) ?? .whole
        let configuration = configuration.share(of: location.shard)
        self.location = location
        self.root = location.path
        self.configuration = configuration
        engine = SharedEngine(location, configuration)
        manifests = ManifestRegister(root: location.path, configuration, engine: engine)
        history = RunHistory(engine)
    }

    /// Plans the steps that make the tree match the manifests, with reasons.
    ///
    /// The call makes no request and changes nothing. Throws `MirrorError` with `manifestInvalid`,
    /// `usage`, `inputOutput`, `indexNewer` or `cancelled`.
    public func plan(
        _ manifests: [Manifest], options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        let (root, shard, meter) = (root, shard, ActivityMeter.current)
        let least = configuration.minFree
        let stores = try configuration.substitutes().stores
        return try await engine.scan { view, isCancelled in
            defer { meter?.end() }
            let scan = try Scan(
                manifests: manifests, options: options, shard: shard, root: view.root,
                index: view.index, now: SystemClock.now(), least: least, meter: meter,
                isCancelled: isCancelled)
            var plan = try scan.plan(for: root)
            plan.shard = shard.name
            try StoreScan(stores: stores, isCancelled: isCancelled).look(&plan)
            return plan
        }
    }

    /// Plans the steps that make the tree match one manifest.
    public func plan(
        _ manifest: Manifest, options: PlanOptions = PlanOptions()
    ) async throws -> Plan {
        try await plan([manifest], options: options)
    }

    /// Executes a plan. The run begins at once; the returned value delivers its events.
    ///
    /// The run ends when its value is released, so keep the value. A run needs no reader.
    ///
    /// The run looks again at every file that the plan keeps. If a file was changed or removed
    /// since the plan, its resource fails with `sourceChanged`. A plan of another root fails with
    /// `rootUnusable`.
    ///
    /// Failed resources are events. An error that ends the run is thrown where the events are read:
    /// `MirrorError` with `locked`, `deleteLimit`, `spaceLimit`, `noSpace`, `inputOutput` and the
    /// like.
    public nonisolated func execute(
        _ plan: Plan, options: RunOptions = RunOptions()
    ) -> Run {
        let control = RunControl(plan)
        pending.withLock { $0[ObjectIdentifier(control)] = control }
        var options = options
        options.began = options.began ?? .now
        Task { [options] in await self.perform(plan, options, for: control) }
        return Run(control)
    }

    /// A run that could not begin. Its only event is its summary, and its loop throws the error.
    nonisolated func failedRun(_ error: any Error) -> Run {
        let control = RunControl(
            Plan(root: root, manifests: [], steps: StepList(), now: .now, orphansLeft: 0))
        control.fail(error, in: self)
        return Run(control)
    }

    /// Makes the tree match one manifest, as `sync` of several does.
    @discardableResult
    public func sync(
        _ manifest: Manifest, planning: PlanOptions = PlanOptions(),
        options: RunOptions = RunOptions()
    ) async throws -> Summary {
        try await sync([manifest], planning: planning, options: options)
    }

    /// Reads the manifests of a file or an http(s) URL.
    ///
    /// `source` is an argument of the command: a path, a URL, or `-` for standard input. A URL is
    /// requested conditionally. If the network fails, or if `offline` is true, its last good copy is
    /// read. Throws `ManifestError`, or `MirrorError` with `manifestUnreadable`, `offline` or
    /// `usage`.
    public func load(
        contentsOf source: String, offline: Bool = false
    ) async throws -> [Manifest] {
        let sources = [try ManifestSource(argument: source)]
        return try await manifests.load(sources, isOffline: offline, selection: Selection())
            .manifests
    }

    /// Reads the manifests that the root remembers.
    ///
    /// Each has the selection that the command was given for it with `--only` and `--skip`. A
    /// manifest without a readable file or copy is left out. Throws `ManifestError`, or
    /// `MirrorError` with `offline`.
    public func loadRemembered(offline: Bool = false) async throws -> [Manifest] {
        try await manifests.loadRemembered(isOffline: offline).manifests
    }

    /// Reads the manifests of a file or an http(s) URL, and makes the tree match them.
    ///
    /// Throws as `load` and `sync` do.
    @discardableResult
    public func sync(
        contentsOf source: String, planning: PlanOptions = PlanOptions(),
        options: RunOptions = RunOptions()
    ) async throws -> Summary {
        let manifests = try await load(contentsOf: source, offline: options.offline)
        return try await sync(manifests, planning: planning, options: options)
    }

    /// Makes the tree match the manifests: plans and executes under one lock.
    ///
    /// Returns the run's summary, which counts failed resources. Throws the error that ends the
    /// run. A cancelled task throws after the run has ended and released everything.
    @discardableResult
    public func sync(
        _ manifests: [Manifest], planning: PlanOptions = PlanOptions(),
        options: RunOptions = RunOptions()
    ) async throws -> Summary {
        try options.validate()
        var options = options
        options.followsPlanning = true
        return try await withPlan(of: manifests, options: planning) { [options] plan in
            let run = self.execute(plan, options: options)
            var summary = Summary()
            for try await event in run {
                if case .summary(let last) = event.body { summary = last }
            }
            // A cancelled task stops reading before the run has ended.
            await run.finish()
            if Task.isCancelled { throw MirrorError(wrapping: CancellationError()) }
            return summary
        }
    }

    /// Holds the root's lock while the closure runs.
    ///
    /// So the closure can make a plan and execute it before another process changes the tree.
    /// Throws `MirrorError` with `inputOutput` for a damaged index, because only `withPlan` and
    /// `execute` make a new one.
    public func withLock<Value: Sendable>(
        waitingSeconds wait: Int64 = 0, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        try await engine.requireSoundIndex()
        return try await engine.using(waitingSeconds: wait) { _ in
            // SE-0420: a closure runs on its caller's actor only if it captures the parameter.
            _ = isolation
            return try await body()
        }
    }

    /// Makes a plan under the root's lock, and calls the closure with the plan under the same lock.
    ///
    /// If planning shows that the index is damaged, the index is moved aside and the plan is made
    /// again. Nothing was done before. `before` is called each time the lock was taken. Throws as
    /// `plan` does, and what the closure throws.
    public func withPlan<Value: Sendable>(
        of manifests: [Manifest], options: PlanOptions = PlanOptions(),
        waitingSeconds wait: Int64 = 0, isolation: isolated (any Actor)? = #isolation,
        before: () async throws -> Void = {}, _ body: (Plan) async throws -> Value
    ) async throws -> Value {
        var hasSeenDamage = false
        while true {
            do {
                // The lock was released for a moment, and another run may hold it for a moment.
                let wait = hasSeenDamage ? max(wait, 5) : wait
                return try await engine.using(waitingSeconds: wait) { engine in
                    // SE-0420: a closure runs on its caller's actor only if it captures the
                    // parameter.
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
                // The closed engine left a mark. The next engine moves the index aside, or checks
                // it.
                hasSeenDamage = true
            }
        }
    }

    /// Sentences for people about the state of the root when the lock was taken.
    ///
    /// For example, they report a damaged index or a network file system. The list is empty while
    /// the session holds no lock.
    public func notices() async -> [String] { await engine.current()?.notices ?? [] }

    /// Throws if the folder is no root yet, so that no command creates files in it by mistake.
    ///
    /// Every verb calls this first, except those that fetch. The error is a `MirrorError` with
    /// `rootUnusable`.
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
    /// Stops requesting a resource's bytes, also in runs of `execute` that have not begun.
    ///
    /// Returns false, without an effect, if no run gives the resource new bytes.
    @discardableResult
    public func pause(_ target: Target) -> Bool { steer(.pause(target), at: target) }

    /// Requests a resource's bytes again. Returns false if no run gives the resource new bytes.
    @discardableResult
    public func resume(_ target: Target) -> Bool { steer(.resume(target), at: target) }

    /// Ends a resource's transfer. Its part is kept for the next run; `discardingPart` deletes it.
    ///
    /// Returns false, without an effect, if no run gives the resource new bytes.
    @discardableResult
    public func cancel(_ target: Target, discardingPart: Bool = false) -> Bool {
        steer(.cancel(target, discardingPart: discardingPart), at: target)
    }

    /// Stops requesting bytes until `resumeAll`, also in runs that begin later.
    public func pauseAll() {
        isPaused = true
        steer(.pause(nil))
    }

    /// Requests bytes again.
    public func resumeAll() {
        isPaused = false
        steer(.resume(nil))
    }

    /// Ends all runs of this session, also those of `execute` that have not begun.
    ///
    /// Parts are kept; `discardingParts` deletes the parts of these runs. A `sync` that has no plan
    /// yet, because it waits for the lock, ends only when its task is cancelled.
    public func cancelAll(discardingParts: Bool = false) {
        steer(.end(.interrupted(exit: 128 + SIGINT), discardingParts: discardingParts))
    }

    /// The targets that are paused in this root, also for later runs.
    ///
    /// Throws `MirrorError` with `rootUnusable` or `inputOutput`.
    package nonisolated func pausedTargets() throws -> PausedTargets {
        try PausedTargets(at: location)
    }

    /// Pauses a target, or all targets if `nil`, in runs under way and in later ones.
    ///
    /// Transfers of paused targets end, and their parts are kept. Throws `MirrorError` with
    /// `rootUnusable`, `inputOutput`, `locked` or `noSpace`.
    public func putAside(_ target: Target?) async throws {
        try await Offload.run { [location] in
            try PausedTargets.change(at: location) { $0.pause(target) }
        }
        steer(.putAside(target))
    }

    /// Ends a pause of `putAside`, from the next run on. Returns false if there was no such pause.
    ///
    /// Throws `MirrorError` with `rootUnusable`, `inputOutput`, `locked` or `noSpace`.
    public func takeUp(_ target: Target?) async throws -> Bool {
        try await Offload.run { [location] in
            try PausedTargets.change(at: location) { $0.resume(target) }
        }
    }
}
