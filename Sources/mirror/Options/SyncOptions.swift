import ArgumentParser
import MirrorKit
import MirrorModel

/// Everything that says what a sync does, for the verbs that make one or many.
struct SyncOptions: ParsableArguments {
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

    /// The manifests, with what the options ask of them.
    var arguments: ManifestArguments {
        var arguments = ManifestArguments(locations: manifests, network: network)
        arguments.needsNames = selection.prune
        arguments.needsPins = selection.requirePinned
        return arguments
    }

    /// A session over the root.
    func makeSession() throws -> MirrorSession {
        var configuration = network.configuration
        running.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    /// What the run may do, and for how long.
    func runOptions() throws -> RunOptions {
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
