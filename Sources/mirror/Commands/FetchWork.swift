import MirrorKit
import MirrorModel

/// The common work of verbs that fetch among other things: a session, manifests, a shown run.
struct FetchWork {
    let root: RootOptions
    let network: NetworkOptions
    let running: RunningOptions
    /// Nil for verbs whose runs remove nothing.
    var removal: RemovalOptions?
    let output: OutputOptions
    /// Whether standard output holds something else than the report of the run.
    var hasOtherResults = false
    /// Whether a folder that is no root yet becomes one where manifests are given.
    var makesRoot = true
    /// Receives every event of the run.
    var observer: (@Sendable (Event) -> Void)?

    /// Reads the given manifests, or those that the root remembers, and passes them to the body
    /// with the output of the run.
    func run(
        _ locations: [String],
        _ body: (MirrorSession, [Manifest], RunOutput) async throws -> Void
    ) async throws {
        running.ending.watchDeadline()
        var shown = RunOutput(options: output)
        shown.hasOtherResults = hasOtherResults
        shown.observer = observer
        try await shown.reportingFailure(opening: makeSession) { [shown] session in
            if locations.isEmpty || !makesRoot { try session.requireRoot() }
            let manifests = try await ManifestArguments(locations: locations, network: network)
                .load(in: session)
            try await body(session, manifests, shown)
        }
    }

    /// Plans and executes under the lock, and shows the run.
    ///
    /// Throws `ExitCode` with the run's exit code if it is not 0.
    func fetch(
        _ manifests: [Manifest], _ planning: PlanOptions, in session: MirrorSession,
        _ shown: RunOutput, afterwards: @Sendable () async throws -> Void = {}
    ) async throws {
        try await shown.concluding {
            if !network.offline { session.expectRequests(of: manifests) }
            CommandStage.enter(.waitingForLock)
            try await session.withPlan(
                of: manifests, options: planning, waitingSeconds: running.waitingSeconds
            ) {
                CommandStage.enter(.lookingAtTree)
            } _: { plan in
                CommandStage.enter(.running)
                try await shown.show(session.execute(plan, options: try runOptions()))
                try await afterwards()
            }
        }
    }

    private func makeSession() throws -> MirrorSession {
        var configuration = network.configuration
        running.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    private func runOptions() throws -> RunOptions {
        var options = RunOptions()
        running.apply(to: &options)
        removal?.apply(to: &options)
        options.isOffline = network.offline
        options.secrets = try network.secrets()
        options.followsPlanning = true
        return options
    }
}
