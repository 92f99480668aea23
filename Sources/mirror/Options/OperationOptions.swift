import ArgumentParser
import MirrorModel

/// A run's log and metrics, and the programs that it starts at its end.
struct OperationOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Append one line an event to this file.", valueName: "file"),
        completion: .file())
    var log: String?

    @Option(
        name: .long,
        help: ArgumentHelp("How the log is written: logfmt or json.", valueName: "format"))
    var logFormat = LogFormat.logfmt

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write the run's numbers for Prometheus's textfile collector to this file.",
            valueName: "file"),
        completion: .file())
    var metrics: String?

    @Option(
        name: .long, parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Start this program when files changed, their paths on its standard input; repeat for its arguments.",
            valueName: "word"))
    var onChange: [String] = []

    @Option(
        name: .long, parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Start this program when the exit code is not 0, the failed paths on its standard input; repeat for its arguments.",
            valueName: "word"))
    var onFailure: [String] = []

    /// Whether none is asked for.
    var isEmpty: Bool { log == nil && metrics == nil && onChange.isEmpty && onFailure.isEmpty }
}

/// How a log's lines are written.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    case logfmt, json
}
