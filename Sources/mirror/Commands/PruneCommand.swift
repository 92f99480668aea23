import ArgumentParser
import MirrorKit

/// `mirror prune`: removes orphans.
struct PruneCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove what is no longer named.",
        discussion: """
            Only what mirror put there is removed, and only while it is unchanged. Nothing is fetched.

            EXAMPLES:
              mirror prune --dry-run
              mirror prune manifest.json --max-delete 20
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @Flag(help: "Say what would be removed, and do nothing.") var dryRun = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Limits") var ending: EndingOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        ending.watchDeadline()
        let run = RunOutput(options: output)
        try await run.reportingFailure {
            try MirrorSession(root: root.root, configuration: network.configuration)
        } _: { session in
            try session.requireRoot()
            var arguments = ManifestArguments(
                locations: manifests, isOffline: network.offline, lists: lists)
            arguments.needsNames = true
            let manifests = try await arguments.load(in: session)
            var planning = PlanOptions()
            planning.prune = true
            if dryRun {
                return try await session.plan(manifests, options: planning)
                    .removalsOnly.show(output)
            }
            var options = RunOptions()
            ending.apply(to: &options)
            removal.apply(to: &options)
            try await run.carryOut(
                manifests, planning, waiting: ending.wait, in: session,
                announce: { run.announce(session) }
            ) { plan in
                CommandStage.enter(.removing)
                try await run.show(session.execute(plan.removalsOnly, options: options))
            }
        }
    }
}
