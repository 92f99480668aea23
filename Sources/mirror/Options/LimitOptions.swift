import ArgumentParser
import MirrorKit

/// The limits of a run that fetches, and its policy for files that others put at a target.
struct RunningOptions: ParsableArguments {
    @OptionGroup var ending: EndingOptions

    @Flag(help: "Exit 0 when good files could not be confirmed.") var staleOk = false

    @Option(help: ArgumentHelp("With --stale-ok: how old such files may be.", valueName: "time"))
    var maxStale: DurationText?

    @Option(help: .minFree) var minFree = ByteCount(64 << 20)

    @Flag(help: "Refuse the whole run where the disk has no room for every file.")
    var requireRoom = false

    @Option(
        help: ArgumentHelp(
            "What happens to a file that someone else put at a target: rename, keep or replace.",
            valueName: "policy"))
    var onConflict = ConflictPolicy.rename

    func validate() throws {
        if maxStale != nil, !staleOk { throw ValidationError("--max-stale goes with --stale-ok.") }
    }

    /// Returns the configuration of a session whose runs have these limits.
    func configuration(_ network: NetworkOptions) -> Configuration {
        var configuration = network.configuration
        configuration.minFree = minFree.bytes
        configuration.onConflict = onConflict
        return configuration
    }

    /// Returns the options of a run that fetches. Throws `MirrorError` with `usage`.
    func runOptions(_ network: NetworkOptions) throws -> RunOptions {
        var options = RunOptions()
        ending.apply(to: &options)
        options.staleOK = staleOk
        options.maxStale = maxStale?.duration
        options.offline = network.offline
        options.requireRoom = requireRoom
        options.secrets = try network.secrets()
        options.followsPlanning = true
        return options
    }
}

extension ArgumentHelp {
    /// The help of `--min-free`, which several verbs have.
    static let minFree = ArgumentHelp(
        "Bytes that stay free on each file system.", valueName: "size")
}

/// How long a command may take.
struct DeadlineOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "End the command after this time, counted from its start.", valueName: "time"))
    var deadline: DurationText?

    /// Starts to watch the deadline.
    func watchDeadline() { Interruption.setDeadline(seconds: deadline?.seconds) }
}

/// When a run ends early, and how long it waits before it begins.
struct EndingOptions: ParsableArguments {
    @OptionGroup var time: DeadlineOptions

    @Flag(help: "End the run at the first failure.") var failFast = false

    @Option(help: .wait) var wait: DurationText?

    /// Starts to watch the deadline.
    func watchDeadline() { time.watchDeadline() }

    func apply(to options: inout RunOptions) {
        options.began = MirrorCommand.began
        options.deadline = time.deadline?.duration
        options.failFast = failFast
    }
}

/// How many files may be removed.
struct RemovalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many files may be removed, a number or a percentage.",
            discussion:
                "Default: half of a manifest's files where it has more than 10, and none when it names no resource.",
            valueName: "n|p%"))
    var maxDelete: DeleteLimit?

    func apply(to options: inout RunOptions) {
        options.maxDelete = maxDelete ?? .whenOmitted
    }
}

/// How much Caches may hold, and how long files of tmp and unwanted parts are kept.
struct StorageOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What mirror's files in Caches may take up, e.g. 5GiB; the rest is evicted.",
            valueName: "size"))
    var quota: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Remove files of tmp that were not used for so long, or are no longer named.",
            valueName: "time"))
    var keepTmp: DurationText?

    @Option(
        help: ArgumentHelp(
            "Remove parts of unfinished files that no manifest wants after so long.",
            valueName: "time"))
    var keepParts = DurationText(seconds: 14 * 86400)

    func apply(to options: inout PlanOptions) {
        options.quota = quota?.bytes
        options.keepTmp = keepTmp?.duration
        options.keepParts = keepParts.duration
    }

    /// Returns what a quota does not count, if the plan has such files.
    func note(about plan: Plan) -> String? {
        guard quota != nil else { return nil }
        let count = plan.steps.indices.count { plan.steps.target(at: $0).area == .documents }
        if count == 0 { return nil }
        return
            "--quota counts Caches; \(Counted(count, "file")) of Documents \(Counted.verb(Int64(count), "is", "are")) not counted."
    }
}

/// When transfers may run. Other transfers are deferred.
struct PermissionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Fetch only at these local times, e.g. 01:00-06:00,22:00-24:00; the rest is deferred.",
            valueName: "times"))
    var window: DailyWindows?

    @Flag(help: "Fetch nothing while NetworkManager says that the network is metered.")
    var unlessMetered = false

    @Option(
        help: ArgumentHelp(
            "Body bytes that may arrive in a day, week or month, e.g. 10GiB/month.",
            valueName: "budget"))
    var budget: TransferBudget?

    /// The permission that the options give.
    var permission: TransferPermission {
        var permission = TransferPermission()
        permission.windows = window
        permission.needsUnmeteredNetwork = unlessMetered
        permission.budget = budget
        return permission
    }
}
