import ArgumentParser
import Glibc

/// What is said, and how.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Write JSON for scripts to standard output.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say only what failed.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Say also what was kept.")
    var verbose = false

    @Flag(name: .long, help: "No live progress on a terminal, no lines of progress elsewhere.")
    var noProgress = false

    @Option(
        name: .long, help: ArgumentHelp("Colour: auto, always or never.", valueName: "when"))
    var color: ColorChoice = .auto

    func validate() throws {
        if quiet, verbose { throw ValidationError("--quiet and --verbose exclude each other.") }
    }

    /// Whether text on a console is coloured (https://no-color.org).
    func usesColor(on console: Console) -> Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto:
            console.isTerminal && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        }
    }
}
