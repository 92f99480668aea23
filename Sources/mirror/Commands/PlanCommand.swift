import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror plan`: shows the steps that sync would take, and why.
struct PlanCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Say what sync would do, and why.",
        discussion: """
            Looks at the manifests, the index and the tree; asks no server for a resource, waits for \
            no lock, and changes nothing.

            EXAMPLES:
              mirror plan manifest.json
              mirror plan --exit-code manifest.json || mirror sync manifest.json
              mirror plan --json manifest.json | jq '.totals.bytesToFetch'
            """)

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "What") var selection: SelectionOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "When it may run") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    @Flag(name: .long, help: "Refuse a list of which an entry cannot be taken.")
    var strict = false

    @Flag(name: .long, help: "Exit 2 when there is something to do.")
    var exitCode = false

    func run() async throws {
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        if manifests.isEmpty { try session.requireRoot() }
        var arguments = ManifestArguments(locations: manifests, network: network, lists: lists)
        arguments.needsNames = selection.prune
        arguments.needsPins = selection.requirePinned
        arguments.isStrict = strict
        let manifests = try await arguments.load(in: session)
        var options = selection.planOptions
        storage.apply(to: &options)
        let plan = try await session.plan(manifests, options: options)
        try PlanOutput(options: output).show(
            plan, try await PermissionStatus(of: when.permission, in: session))
        if exitCode, !plan.isEmpty { throw ExitCode(2) }
    }
}
