import ArgumentParser
import MirrorKit
import Synchronization

/// `mirror sync`: makes the tree match its manifests.
struct SyncCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Make the tree match manifests.",
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

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "What") var shard: ShardOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Limits") var removal: RemovalOptions
    @OptionGroup(title: "Operations") var operations: OperationOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    @Flag(help: "Say what would be done, as `mirror plan` does, and do nothing.") var dryRun = false

    /// The option groups as one value.
    var options: SyncOptions {
        SyncOptions(
            manifests: manifests, lists: lists, root: root, selection: selection, shard: shard,
            network: network, when: when, storage: storage, running: running, removal: removal,
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
            let manifests = try await options.arguments().load(in: session)
            if dryRun { return try await show(manifests, in: session) }
            var output = output
            let responder = ControlResponder(verb: "sync", root: session.root)
            defer { responder.close() }
            output.responder = responder
            try await options.sync(manifests, in: session, showing: output)
        }
    }

    private func show(_ manifests: [Manifest], in session: MirrorSession) async throws {
        CommandStage.enter(.lookingAtTree)
        let plan = try await session.plan(manifests, options: try options.planOptions())
        plan.show(
            options.output, try await PermissionStatus(of: options.when.permission, in: session))
    }
}

/// All options of a sync, for the verbs that make one sync or many.
///
/// The verbs declare the groups themselves. The parser builds a nested group again at every level,
/// and a start took ten times as long.
struct SyncOptions {
    var manifests: [String]
    var lists: ImportOptions
    var root: RootOptions
    var selection: SelectionOptions
    var shard: ShardOptions
    var network: NetworkOptions
    var when: PermissionOptions
    var storage: StorageOptions
    var running: RunningOptions
    var removal: RemovalOptions
    var operations: OperationOptions
    var output: OutputOptions

    /// The given manifests, with the checks that the options ask for.
    func arguments() throws -> ManifestArguments {
        var arguments = ManifestArguments(
            locations: manifests, isOffline: network.offline, lists: lists)
        arguments.isStrict = network.strict
        arguments.needsNames = selection.prune
        arguments.needsPins = selection.requirePinned
        try selection.choose(in: &arguments)
        return arguments
    }

    /// The options of the plan: the selected resources, the assumed state, and the limits of space.
    func planOptions() throws -> PlanOptions {
        var options = selection.planOptions(of: try arguments())
        storage.apply(to: &options)
        return options
    }

    /// A session over the root.
    func makeSession() throws -> MirrorSession {
        var configuration = running.configuration(network)
        try shard.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    /// The limits and permissions of the run.
    func runOptions() throws -> RunOptions {
        var options = try running.runOptions(network)
        removal.apply(to: &options)
        options.permission = when.permission
        options.reportsKept = output.json || output.verbose
        return options
    }
}

// MARK: One sync

extension SyncOptions {
    /// Makes the tree match the manifests: plans and executes under the lock, and shows the run.
    ///
    /// Throws `ExitCode` with the run's exit code if it is not 0.
    ///
    /// - Parameter isAnnounced: whether the line that names the root was printed before.
    func sync(
        _ manifests: [Manifest], in session: MirrorSession, showing output: RunOutput,
        isAnnounced: Bool = false
    ) async throws {
        try await output.carryOut(
            manifests, try planOptions(), waiting: running.ending.wait, in: session,
            due: { try await due(manifests, in: session) },
            announce: { if !isAnnounced { announce(session, in: output) } }
        ) { plan in
            CommandStage.enter(.running)
            if let note = storage.note(about: plan) { output.note(note) }
            // A run that has nothing to do ends before another process could steer it.
            if !plan.isEmpty { output.responder?.begin(session) }
            try await output.show(session.execute(plan, options: try runOptions()))
        }
    }

    private func announce(_ session: MirrorSession, in output: RunOutput) {
        if when.unlessMetered, let reason = PermissionStatus.reasonMeteringIsUnknown() {
            output.note("The network counts as not metered: \(reason)")
        }
        output.announce(session)
    }

    /// Returns how many files the next run asks about.
    private func due(_ manifests: [Manifest], in session: MirrorSession) async throws -> Int {
        let count = Mutex(0)
        try await session.forEachFile(of: manifests, readsDoubtful: false) { file in
            let isDue = if case .due = file.freshness { true } else { false }
            let isMissing = file.state == .missing && !file.isOrphan
            if isDue || isMissing { count.withLock { $0 += 1 } }
        }
        return count.withLock { $0 }
    }
}
