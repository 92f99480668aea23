import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror why`: what the last runs decided about a target, and what a run now would do.
struct WhyCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Say what runs decided about a file and why, and what a run now would do.",
        discussion: """
            Asks no server. The last 30 runs that had something to do keep what they decided, in \
            .mirror/runs. A run that kept the file as it was decided nothing about it.

            With --record, a file keeps what the decision of a run now would be made from: what the \
            manifest wants, what the index knows, the file's times, the clock. It has no query, header \
            or secret, but host names and paths. Send it with a report: --replay makes the same \
            decision from it on any machine, and exits 1 if this mirror decides otherwise.

            EXAMPLES:
              mirror why Documents/world.pmtiles
              mirror why Caches/tiles.bin --json | jq .now
              mirror why Caches/tiles.bin --record tiles.decision.json
              mirror why --replay tiles.decision.json
            """)

    @Argument(help: ArgumentHelp("The file's path in the tree.", valueName: "target"))
    var target: Target?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Make the decisions of this file again, about the target or all; needs no root.",
            valueName: "file"), completion: .file(extensions: ["json"]))
    var replay: String?

    @OptionGroup var root: RootOptions
    @OptionGroup var recording: RecordingOptions
    @OptionGroup(title: "When a run may fetch") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        if target == nil, replay == nil {
            throw ValidationError(
                "Name a target, such as Caches/feed.json, or a file with --replay.")
        }
        if replay != nil, recording.record != nil {
            throw ValidationError("--replay and --record exclude each other.")
        }
    }

    func run() async throws {
        if let replay {
            try show(try RecordedDecision.decisions(inFile: replay), of: replay)
        } else if let target {
            try await explain(target)
        }
        if Console.output.writeError != nil { throw ExitCode(74) }
    }

    private func explain(_ target: Target) async throws {
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        try session.requireRoot()
        let decisions = try await session.history.decisions(about: target)
        let manifests = try await ManifestArguments(locations: [], network: network)
            .loadKnown(in: session)
        var options = PlanOptions()
        storage.apply(to: &options)
        options.recording = recording.recording(of: target)
        CommandStage.enter(.lookingAtTree)
        let plan = try await session.plan(manifests, options: options)
        LiveDisplay.shared.end()
        let now = plan.steps.position(of: target).map { plan.steps[$0] }
        if now == nil, decisions.isEmpty {
            throw MirrorError(
                .usage,
                UnknownName.sentence(
                    target: target, among: plan.steps.indices.lazy.map(plan.steps.target(at:))))
        }
        let permission = try await PermissionStatus(of: when.permission, in: session)
        let mayWait = now.map { $0.needsNetwork && plan.resource(of: $0)?.isUrgent != true }
        WhyOutput(
            options: output, root: session.root, now: plan.now,
            deferral: mayWait == true ? permission?.deferral : nil
        ).show(target, decisions, now)
        if let file = recording.record, !output.quiet {
            Console.error.line(
                "mirror: note: \(file.printable) "
                    + (now?.resource == nil
                        ? "has no decision, because no manifest wants the file."
                        : "has what that is decided from. Look at it before you send it: it names hosts and paths.")
            )
        }
    }

    /// Makes recorded decisions again.
    private func show(_ decisions: [RecordedDecision], of file: String) throws {
        var chosen = decisions
        if let target {
            chosen = decisions.filter { $0.target == target }
            if chosen.isEmpty {
                let known = decisions.prefix(8).map(\.target.path.printable)
                throw MirrorError(
                    .usage,
                    "\(file.printable) has no decision about \(target). "
                        + (known.isEmpty
                            ? "It has none at all." : "It has: \(known.joined(separator: ", ")).")
                )
            }
        }
        let report = ReplayReport(of: chosen)
        ReplayOutput(options: output).show(report)
        if !report.differences.isEmpty { throw ExitCode(1) }
    }
}
