import ArgumentParser
import MirrorKit
import MirrorModel
import Synchronization

/// `mirror sync`: makes the tree match.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Make the tree match its manifests.",
        discussion: """
            Fetches what is missing or outdated, resumes what was interrupted, verifies every \
            byte, and only then gives a file its name. Files that are there and right cost no \
            request.

            EXAMPLES:
              mirror sync manifest.json
              mirror sync --root /srv/maps --jobs 4 https://origin.example/maps.json
              mirror sync                        every manifest that this root remembers
              mirror sync --offline --stale-ok   use what is there
            """)

    @Argument(help: ManifestArguments.help)
    var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Operations") var operations: OperationOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    @Flag(name: .long, help: "Say what would be done, as `mirror plan` does, and do nothing.")
    var dryRun = false

    func run() async throws {
        running.ending.watchDeadline()
        var output = RunOutput(options: output)
        output.operations = try RunOperations(operations)
        try await output.reportingFailure(opening: makeSession) { [output] session in
            let manifests = try await arguments.load(in: session)
            if dryRun {
                CommandStage.enter(.lookingAtTree)
                let plan = try await session.plan(manifests, options: selection.planOptions)
                return try PlanOutput(options: self.output).show(
                    plan, try await session.permissionStatus(of: when.permission))
            }
            try await sync(manifests, in: session, output)
        }
    }

    private func sync(
        _ manifests: [Manifest], in session: MirrorSession, _ output: RunOutput
    ) async throws {
        let due = {
            let count = Mutex(0)
            try await session.forEachFile(of: manifests) { file in
                if case .due = file.freshness { count.withLock { $0 += 1 } }
            }
            return count.withLock { $0 }
        }
        try await output.concluding(due: due) {
            CommandStage.enter(.waitingForLock)
            try await session.withLock(waitingSeconds: running.waitingSeconds) {
                CommandStage.enter(.lookingAtTree)
                for notice in try await session.notices() { output.note(notice) }
                if when.unlessMetered, let reason = MirrorSession.reasonMeteringIsUnknown() {
                    output.note("The network counts as not metered: \(reason)")
                }
                output.announce(root: session.root)
                let plan = try await session.plan(manifests, options: selection.planOptions)
                CommandStage.enter(.running)
                try await output.show(session.execute(plan, options: try runOptions()))
            }
        }
    }

    private var arguments: ManifestArguments {
        var arguments = ManifestArguments(locations: manifests, network: network)
        arguments.needsNames = selection.prune
        arguments.needsPins = selection.requirePinned
        return arguments
    }

    private func makeSession() throws -> MirrorSession {
        var configuration = network.configuration
        running.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    private func runOptions() throws -> RunOptions {
        var options = RunOptions()
        running.apply(to: &options)
        removal.apply(to: &options)
        options.isOffline = network.offline
        options.permission = when.permission
        options.secrets = try network.secrets()
        options.reportsKept = output.json || output.verbose
        return options
    }
}
