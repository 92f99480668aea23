extension MirrorSession {
    /// Syncs whenever something is due, for as long as the loop over the runs lives.
    ///
    /// Each element is a run under way. The next run begins once this one has ended and a file is
    /// due, the file of a manifest changes, or `every` is over. After a failure that may pass, it
    /// begins sooner. Between runs the session holds no lock.
    ///
    /// Read the events of each run: a run waits for their reader when it reports many kept files
    /// (`RunOptions.reportsKept`).
    ///
    /// A sync that cannot begin, for example because a manifest cannot be read, is a run too: its
    /// only event is its summary, and then its loop throws the error. It does not end the loop over
    /// the runs, unless it is the first one and no later sync can succeed. Then that loop throws
    /// `ManifestError`, or `MirrorError` with `usage`, `manifestInvalid`,
    /// `manifestUnreadable`, `rootUnusable` or `indexNewer`. Cancelling the task ends the loop, and
    /// the run under way with its parts kept.
    ///
    /// - Parameters:
    ///   - sources: the manifests. An empty list means those that the root remembers.
    ///   - every: the longest wait between two runs, at least a second. The loop throws
    ///     `MirrorError` with `usage` for less, and for more than a hundred years.
    public nonisolated func watch(
        _ sources: [ManifestSource] = [], every: Duration = .seconds(3600),
        planning: PlanOptions = PlanOptions(), options: RunOptions = RunOptions()
    ) -> AsyncThrowingStream<Run, any Error> {
        let watch = SessionWatch(self, sources, every, planning, options)
        return AsyncThrowingStream { try await watch.next() }
    }
}

/// The runs of one `watch` of a session, one after the other.
private actor SessionWatch {
    private let session: MirrorSession
    private let sources: [ManifestSource]
    private let every: Int64
    private let planning: PlanOptions
    private let options: RunOptions
    private var state = WatchState()
    /// The run under way, and the manifests that it syncs.
    private var last: (run: Run, manifests: [Manifest])?
    /// How the last sync ended, if it could not begin.
    private var failed: SyncEnd?
    private var isFirst = true
    private var sleep: WatchSleep?

    init(
        _ session: MirrorSession, _ sources: [ManifestSource], _ every: Duration,
        _ planning: PlanOptions, _ options: RunOptions
    ) {
        self.session = session
        self.sources = sources
        self.every = every.wholeSeconds
        self.planning = planning
        self.options = options
    }

    /// Waits until a sync is due, and begins it. Returns nil when the task is cancelled.
    func next() async throws -> Run? {
        guard (1...Self.century).contains(every) else {
            throw MirrorError(.usage, "watch: a wait from a second to a hundred years is possible.")
        }
        var end = failed.take()
        if let last { end = await self.end(of: last.run, last.manifests) }
        if let end, try await !rest(after: end) { return nil }
        do {
            return try await begin()
        } catch {
            if Task.isCancelled { return nil }
            let failed = failure(error)
            if isFirst, failed.isFinal || sleep == nil { throw error }
            self.failed = failed
            return session.failedRun(error)
        }
    }

    /// A hundred years, in seconds.
    private static let century: Int64 = 3_155_760_000

    private func failure(_ error: any Error) -> SyncEnd {
        let error = MirrorError(wrapping: error)
        var end = SyncEnd()
        state.enter(exit: error.code.exitCode, mayPass: error.isRetryable, into: &end)
        return end
    }

    private func begin() async throws -> Run {
        let sleep = try self.sleep ?? WatchSleep()
        self.sleep = sleep
        let isNamed = !sources.isEmpty
        let sources = try await isNamed ? sources : session.manifests.rememberedSources()
        // A change after this moment ends the next sleep.
        sleep.watch(sources)
        let now = Instant.now
        let loaded = try await session.manifests.load(
            sources, isOffline: options.offline, fresh: state.freshSources(among: sources, at: now),
            selection: isNamed ? Selection() : nil)
        state.note(loaded, of: sources, at: now)
        let plan = try await session.plan(loaded.manifests, options: planning)
        let run = session.execute(plan, options: options)
        last = (run, loaded.manifests)
        return run
    }

    /// Waits for the end of a run.
    private func end(of run: Run, _ manifests: [Manifest]) async -> SyncEnd {
        await run.finish()
        last = nil
        do {
            var end = try await state.end(
                of: manifests, in: session, permission: options.permission)
            var exit: Int32 = 70
            if case .summary(let summary)? = run.earlySummary?.body { exit = summary.exit }
            state.enter(exit: exit, into: &end)
            return end
        } catch {
            return failure(error)
        }
    }

    /// Sleeps until the next sync. Returns false when the task is cancelled.
    private func rest(after end: SyncEnd) async throws -> Bool {
        isFirst = false
        guard let sleep else { return false }
        let next = WatchInterval(every: every).next(after: end, at: .now) {
            Int64.random(in: 0...max(0, $0))
        }
        let wake = try await sleep.sleep(
            until: next.at, atMost: every.addingSaturated(every / 10),
            wakesForNetwork: end.failures > 0)
        return wake != .cancelled
    }
}
