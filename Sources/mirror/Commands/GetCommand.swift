import ArgumentParser
import MirrorKit
import MirrorModel
import Synchronization

/// `mirror get`: brings single files, whatever a quota left out, and says where they are.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Bring single files now, and print where they are.",
        discussion: """
            Prints the absolute path of each file, in the order in which they were asked for; everything \
            else goes to standard error. A file that is there and not due costs no request. One that a \
            quota evicted is fetched, and another makes room for it. Each file counts as used now, so \
            that it is among the last to be evicted.

            EXAMPLES:
              mirror get Caches/maps/bern.pmtiles
              open_map "$(mirror get --offline Caches/maps/bern.pmtiles)"
              mirror get --manifest maps.json Caches/a.bin Caches/b.bin
            """)

    @Argument(help: ArgumentHelp("A target of a manifest.", valueName: "target"))
    var targets: [Target]

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A manifest that names them; repeatable. Default: those that this root remembers.",
            valueName: "manifest"))
    var manifest: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        running.ending.watchDeadline()
        let arrivals = Arrivals()
        var shown = RunOutput(options: output)
        shown.hasOtherResults = true
        shown.observer = { arrivals.note($0) }
        do {
            try await shown.reportingFailure(opening: makeSession) { [shown] session in
                try await get(in: session, arrivals, shown)
            }
        } catch {
            show(arrivals)
            throw error
        }
        show(arrivals)
    }

    private func makeSession() throws -> MirrorSession {
        var configuration = network.configuration
        running.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    private func get(
        in session: MirrorSession, _ arrivals: Arrivals, _ shown: RunOutput
    ) async throws {
        if manifest.isEmpty { try session.requireRoot() }
        let manifests = try await ManifestArguments(locations: manifest, network: network)
            .load(in: session)
        var planning = PlanOptions()
        storage.apply(to: &planning)
        planning.asked = Set(targets)
        planning.refusesUnknownNames = true
        var options = RunOptions()
        running.apply(to: &options)
        removal.apply(to: &options)
        options.isOffline = network.offline
        options.secrets = try network.secrets()
        try await shown.concluding {
            CommandStage.enter(.waitingForLock)
            try await session.withLock(waitingSeconds: running.waitingSeconds) {
                CommandStage.enter(.lookingAtTree)
                let plan = try await session.plan(manifests, options: planning)
                CommandStage.enter(.running)
                try await shown.show(session.execute(plan, options: options))
                for target in arrivals.all { try await session.withFile(target) { _ in } }
            }
        }
    }

    /// Prints where the files are that are there.
    private func show(_ arrivals: Arrivals) {
        guard !output.json else { return }
        let root = arrivals.root
        for target in targets where arrivals.all.contains(target) {
            Console.output.line("\(root)/\(target.path)")
        }
    }
}

/// The files that a run brought, or found there.
private final class Arrivals: Sendable {
    private let state = Mutex((targets: Set<Target>(), root: ""))

    var all: Set<Target> { state.withLock { $0.targets } }
    var root: String { state.withLock { $0.root } }

    func note(_ event: Event) {
        switch event.body {
        case .done(let done) where ![.deferred, .evicted].contains(done.outcome):
            state.withLock { _ = $0.targets.insert(done.target) }
        case .summary(let summary): state.withLock { $0.root = summary.root }
        default: break
        }
    }
}
