import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror sync`: makes the tree match.
struct SyncCommand: AsyncParsableCommand, ShowsProgress {
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

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Operations") var operations: OperationOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    @Flag(name: .long, help: "Say what would be done, as `mirror plan` does, and do nothing.")
    var dryRun = false

    /// The option groups as one value.
    var options: SyncOptions {
        SyncOptions(
            manifests: manifests, lists: lists, root: root, selection: selection, network: network,
            when: when, storage: storage, running: running, removal: removal,
            operations: operations, output: output)
    }

    func run() async throws {
        let options = options
        options.running.ending.watchDeadline()
        var output = RunOutput(options: options.output)
        output.operations = try await output.operations(of: options.operations, root: root)
        if options.operations.log != nil {
            Interruption.setHangUp { [operations = output.operations] in
                operations?.reopenLogSoon()
            }
        }
        try await output.reportingFailure(opening: options.makeSession) { [output] session in
            let manifests = try await options.arguments.load(in: session)
            if dryRun { return try await show(manifests, in: session) }
            var output = output
            let desk = ControlDesk(verb: "sync", root: session.root)
            defer { desk.close() }
            output.desk = desk
            try await SyncWork(options: options, output: output, isLast: true)
                .run(manifests, in: session)
        }
    }

    private func show(_ manifests: [Manifest], in session: MirrorSession) async throws {
        CommandStage.enter(.lookingAtTree)
        let plan = try await session.plan(manifests, options: options.planOptions)
        try PlanOutput(options: options.output).show(
            plan, try await PermissionStatus(of: options.when.permission, in: session))
    }
}
