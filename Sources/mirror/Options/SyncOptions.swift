import MirrorKit
import MirrorModel

/// Everything that says what a sync does, for the verbs that make one or many.
///
/// The verbs declare the groups themselves: the parser builds a group within a group again at every
/// level, and a start took ten times as long.
struct SyncOptions {
    var manifests: [String]
    var lists: ImportOptions
    var root: RootOptions
    var selection: SelectionOptions
    var network: NetworkOptions
    var when: PermissionOptions
    var storage: StorageOptions
    var running: RunningOptions
    var removal: RemovalOptions
    var operations: OperationOptions
    var output: OutputOptions

    /// The manifests, with what the options ask of them.
    var arguments: ManifestArguments {
        var arguments = ManifestArguments(locations: manifests, network: network, lists: lists)
        arguments.needsNames = selection.prune
        arguments.needsPins = selection.requirePinned
        return arguments
    }

    /// Which resources are selected, what state is assumed of them, and how much room there is.
    var planOptions: PlanOptions {
        var options = selection.planOptions
        storage.apply(to: &options)
        return options
    }

    /// A session over the root.
    func makeSession() throws -> MirrorSession {
        var configuration = network.configuration
        running.apply(to: &configuration)
        return try MirrorSession(root: root.root, configuration: configuration)
    }

    /// The limits and permissions of the run.
    func runOptions() throws -> RunOptions {
        var options = RunOptions()
        running.apply(to: &options)
        removal.apply(to: &options)
        options.isOffline = network.offline
        options.permission = when.permission
        options.secrets = try network.secrets()
        options.followsPlanning = true
        options.reportsKept = output.json || output.verbose
        return options
    }
}
