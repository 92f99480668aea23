import ArgumentParser
import MirrorKit
import MirrorModel

/// What limits a run, and what it does with other people's bytes.
struct RunningOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many files may be removed, a number or a percentage.", valueName: "n|p%"))
    var maxDelete: DeleteLimit?

    @Flag(name: .long, help: "Exit 0 when good files could not be confirmed.")
    var staleOk = false

    @Option(
        name: .long,
        help: ArgumentHelp("With --stale-ok: how old such files may be.", valueName: "time"))
    var maxStale: DurationText?

    @Option(name: .long, help: ArgumentHelp("End the run after this time.", valueName: "time"))
    var deadline: DurationText?

    @Flag(name: .long, help: "End the run at the first failure.")
    var failFast = false

    @Option(
        name: .long,
        help: ArgumentHelp("Bytes that stay free on each file system.", valueName: "size"))
    var minFree = ByteCount(64 << 20)

    @Option(
        name: .long,
        help: ArgumentHelp(
            "What happens to a file that someone else put at a target: rename, keep or replace.",
            valueName: "policy"))
    var onConflict = ConflictPolicy.rename

    @Option(
        name: .long,
        help: ArgumentHelp("Wait for another run's end, at most so long.", valueName: "time"))
    var wait: DurationText?

    func validate() throws {
        if maxStale != nil, !staleOk { throw ValidationError("--max-stale goes with --stale-ok.") }
    }

    func apply(to configuration: inout Configuration) {
        configuration.leastFreeSpace = minFree.bytes
        configuration.onConflict = onConflict
    }

    func apply(to options: inout RunOptions) {
        options.deleteLimit = maxDelete ?? .whenOmitted
        options.acceptsStale = staleOk
        options.longestStale = maxStale?.seconds
        options.deadline = deadline?.seconds
        options.stopsAtFirstFailure = failFast
    }
}
