import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror verify`: reads every file again.
struct VerifyCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every file again and compare it with the index and the manifests.",
        discussion: """
            Exits 1 when a file is missing or has other bytes. With --repair such files are \
            fetched again; a file in Documents that was edited is kept beside the restored one \
            under a conflict name.

            EXAMPLES:
              mirror verify
              mirror verify --repair manifest.json
            """)

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @Flag(name: .long, help: "Fetch again what differs.")
    var repair = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        running.ending.watchDeadline()
        var configuration = network.configuration
        running.apply(to: &configuration)
        let session = try MirrorSession(root: root.root, configuration: configuration)
        try session.requireRoot()
        let manifests = try await ManifestArguments(
            locations: manifests, network: network, lists: lists
        ).loadKnown(in: session)
        guard repair else {
            CommandStage.enter(.reading)
            return try show(try await session.verify(manifests))
        }
        // The lock comes first, so that the leftovers of an interrupted run are settled before the
        // look.
        let run = RunOutput(options: output)
        try await run.concluding {
            CommandStage.enter(.waitingForLock)
            try await session.withLock(waitingSeconds: running.waitingSeconds) {
                CommandStage.enter(.reading)
                let report = try await session.verify(manifests)
                VerifyOutput(options: output).show(report)
                guard !report.discrepancies.isEmpty else { return }
                try await restore(report, manifests, in: session, showing: run)
            }
        }
    }

    private func show(_ report: VerifyReport) throws {
        VerifyOutput(options: output).show(report)
        if !report.discrepancies.isEmpty { throw ExitCode(1) }
    }

    private func restore(
        _ report: VerifyReport, _ manifests: [Manifest], in session: MirrorSession,
        showing run: RunOutput
    ) async throws {
        var planning = PlanOptions()
        planning.refetched = Set(
            report.discrepancies.lazy.filter { $0.kind == .changed }.map(\.target))
        var options = RunOptions()
        running.apply(to: &options)
        options.isOffline = network.offline
        options.secrets = try network.secrets()
        options.reportsKept = false
        let plan = try await session.plan(manifests, options: planning)
        CommandStage.enter(.running)
        try await run.show(session.execute(plan, options: options))
    }
}
