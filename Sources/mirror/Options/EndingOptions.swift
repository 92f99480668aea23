import ArgumentParser
import MirrorKit
import MirrorModel

/// How long a command may take.
struct DeadlineOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "End the command after this time, counted from its start.", valueName: "time"))
    var deadline: DurationText?

    /// Starts to watch the deadline.
    func watchDeadline() { Interruption.setDeadline(seconds: deadline?.seconds) }
}

/// When a run ends early, and how long it waits before it begins.
struct EndingOptions: ParsableArguments {
    @OptionGroup var time: DeadlineOptions

    @Flag(name: .long, help: "End the run at the first failure.")
    var failFast = false

    @Option(
        name: .long,
        help: ArgumentHelp("Wait for another run's end, at most so long.", valueName: "time"))
    var wait: DurationText?

    /// Starts to watch the deadline.
    func watchDeadline() { time.watchDeadline() }

    func apply(to options: inout RunOptions) {
        options.began = CommandTime.began
        options.deadline = time.deadline?.seconds
        options.stopsAtFirstFailure = failFast
    }
}

/// How many files may be removed.
struct RemovalOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "How many files may be removed, a number or a percentage.",
            discussion:
                "Default: half of a manifest's files where it has more than 10, and none when it names no resource.",
            valueName: "n|p%"))
    var maxDelete: DeleteLimit?

    func apply(to options: inout RunOptions) {
        options.deleteLimit = maxDelete ?? .whenOmitted
    }
}
