import ArgumentParser
import Glibc
import MirrorKit
import Synchronization

/// A command that shows its progress.
protocol ShowsProgress {
    associatedtype Choices: OutputChoices
    /// What it prints.
    var output: Choices { get }
    /// The same, for whoever does not know its kind.
    var choices: any OutputChoices { get }
}

extension ShowsProgress {
    var choices: any OutputChoices { output }
}

/// How much a command prints, and how; each verb offers only the options that apply to it.
protocol OutputChoices: Sendable {
    /// Whether JSON for scripts is written.
    var json: Bool { get }
    /// Whether only failures are printed.
    var quiet: Bool { get }
    /// Whether kept files are printed too.
    var verbose: Bool { get }
    /// Whether no progress is shown.
    var noProgress: Bool { get }
    /// When output is coloured.
    var color: ColorChoice { get }
}

extension OutputChoices {
    var verbose: Bool { false }
    var noProgress: Bool { false }
    var color: ColorChoice { .never }

    /// Whether text on a console is coloured (https://no-color.org).
    func usesColor(on console: Console) -> Bool { color.applies(on: console) }
}

extension ColorChoice {
    private static let choice = Mutex(ColorChoice.auto)

    /// The choice of this command, for what is printed when it fails.
    static var ofCommand: ColorChoice {
        get { choice.withLock { $0 } }
        set { choice.withLock { $0 = newValue } }
    }

    /// Whether text on a console is coloured (https://no-color.org).
    func applies(on console: Console) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto:
            console.isTerminal && TerminalTraits.canMoveCursor
                && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        }
    }
}

extension DiagnosticText {
    /// The form of the errors that end this command.
    static var ofErrors: DiagnosticText { on(.error, color: .ofCommand) }

    /// The form for a console; a pipe gets lines of 100 columns.
    static func on(_ console: Console, color: ColorChoice) -> DiagnosticText {
        DiagnosticText(
            style: TextStyle(isColored: color.applies(on: console)),
            columns: console.isTerminal ? console.size.columns : 100)
    }
}

/// The choices of verbs that have few output options.
struct FewChoices: OutputChoices {
    var quiet = false
    var json = false
    var color: ColorChoice { .auto }
}

/// The output options of verbs that give one verdict.
struct VerdictOptions: ParsableArguments, OutputChoices {
    @Flag(name: .long, help: "Write JSON for scripts to standard output.")
    var json = false

    @Flag(name: .shortAndLong, help: "Say only what failed.")
    var quiet = false
}

/// The output options of verbs that print a list.
struct ListOptions: ParsableArguments, OutputChoices {
    @OptionGroup var verdict: VerdictOptions

    @Option(
        name: .long, help: ArgumentHelp("Colour: auto, always or never.", valueName: "when"))
    var color: ColorChoice = .auto

    var json: Bool { verdict.json }
    var quiet: Bool { verdict.quiet }

    func validate() throws { ColorChoice.ofCommand = color }
}

/// The output options of verbs that print a list and by default leave part of it out.
struct DetailOptions: ParsableArguments, OutputChoices {
    @OptionGroup var list: ListOptions

    @Flag(name: .shortAndLong, help: "Say also what was kept.")
    var verbose = false

    var json: Bool { list.json }
    var quiet: Bool { list.quiet }
    var color: ColorChoice { list.color }

    func validate() throws {
        if quiet, verbose { throw ValidationError("--quiet and --verbose exclude each other.") }
    }
}

/// The output options of verbs that transfer.
struct OutputOptions: ParsableArguments, OutputChoices {
    @OptionGroup var detail: DetailOptions

    @Flag(name: .long, help: "No live progress on a terminal, no lines of progress elsewhere.")
    var noProgress = false

    var json: Bool { detail.json }
    var quiet: Bool { detail.quiet }
    var verbose: Bool { detail.verbose }
    var color: ColorChoice { detail.color }
}
