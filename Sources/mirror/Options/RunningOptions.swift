import ArgumentParser
import MirrorKit
import MirrorModel

/// The limits of a run that fetches, and its policy for files that others put at a target.
struct RunningOptions: ParsableArguments {
    @OptionGroup var ending: EndingOptions

    @Flag(name: .long, help: "Exit 0 when good files could not be confirmed.")
    var staleOk = false

    @Option(
        name: .long,
        help: ArgumentHelp("With --stale-ok: how old such files may be.", valueName: "time"))
    var maxStale: DurationText?

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

    /// Seconds to wait for another run to end.
    var waitingSeconds: Int64 { ending.wait?.seconds ?? 0 }

    func validate() throws {
        if maxStale != nil, !staleOk { throw ValidationError("--max-stale goes with --stale-ok.") }
    }

    func apply(to configuration: inout Configuration) {
        configuration.leastFreeSpace = minFree.bytes
        configuration.onConflict = onConflict
    }

    func apply(to options: inout RunOptions) {
        ending.apply(to: &options)
        options.acceptsStale = staleOk
        options.longestStale = maxStale?.seconds
    }
}
