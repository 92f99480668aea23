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

            EXAMPLES:
              mirror why Documents/world.pmtiles
              mirror why Caches/tiles.bin --json | jq .now
            """)

    @Argument(help: ArgumentHelp("The file's path in the tree.", valueName: "target"))
    var target: Target

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "When a run may fetch") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        try session.requireRoot()
        let decisions = try await session.history.decisions(about: target)
        let manifests = try await ManifestArguments(locations: [], network: network)
            .loadKnown(in: session)
        var options = PlanOptions()
        storage.apply(to: &options)
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
        if Console.output.writeError != nil { throw ExitCode(74) }
    }
}
