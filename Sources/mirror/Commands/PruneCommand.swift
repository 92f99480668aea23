import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror prune`: removes orphans.
struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove files that a manifest named before and no longer names.",
        discussion: """
            Only what mirror put there is removed, and only while it is unchanged. Nothing is fetched.

            EXAMPLES:
              mirror prune --dry-run
              mirror prune manifest.json --max-delete 20
            """)

    @Argument(help: ManifestArguments.help)
    var manifests: [String] = []

    @Flag(name: .long, help: "Say what would be removed, and do nothing.")
    var dryRun = false

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a manifest's server is talked to") var network: NetworkOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = RunOutput(options: output)
        try await run.reportingFailure(opening: makeSession) { session in
            var arguments = ManifestArguments(locations: manifests, network: network)
            arguments.needsNames = true
            let manifests = try await arguments.load(in: session)
            if dryRun {
                return try PlanOutput(options: output).show(
                    try await removals(manifests, in: session))
            }
            var options = RunOptions()
            running.apply(to: &options)
            try await run.concluding {
                try await session.withLock(waitingSeconds: running.wait?.seconds ?? 0) {
                    for notice in try await session.notices() { run.note(notice) }
                    run.announce(root: session.root)
                    let plan = try await removals(manifests, in: session)
                    PlanOutput(options: output).showRemovals(of: plan)
                    try await run.show(session.execute(plan, options: options))
                }
            }
        }
    }

    private func makeSession() throws -> MirrorSession {
        var configuration = network.configuration
        running.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    private func removals(
        _ manifests: [Manifest], in session: MirrorSession
    ) async throws -> Plan {
        var options = PlanOptions()
        options.prunes = true
        return try await session.plan(manifests, options: options).removalsOnly
    }
}
