import ArgumentParser
import Glibc
import MirrorKit
import Synchronization

/// The option that says where the tree is.
struct RootOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder that holds Documents, Caches, tmp and .mirror.",
            discussion:
                "Default: $MIRROR_ROOT, else the nearest folder above that has .mirror, else here.",
            valueName: "dir"), completion: .directory)
    var root: String?

    /// Opens a session over a root that exists. Throws `MirrorError` with `rootUnusable`.
    func session(_ configuration: Configuration = Configuration()) throws -> MirrorSession {
        let session = try MirrorSession(root: root, configuration: configuration)
        try session.requireRoot()
        return session
    }
}

/// A command that shows its progress.
protocol ShowsProgress {
    associatedtype Choices: OutputChoices
    /// The output options of the command.
    var output: Choices { get }
    /// The output options, for callers that do not know their type.
    var choices: any OutputChoices { get }
}

extension ShowsProgress {
    var choices: any OutputChoices { output }
}

/// The options that decide how much a command prints, and how.
///
/// Each verb offers only the options that apply to it.
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

    /// The colour choice of this command, for the errors that end it.
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
            console.isTerminal && Console.canMoveCursor
                && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        }
    }
}

extension DiagnosticText {
    /// The form in which the errors that end this command are printed.
    static var ofErrors: DiagnosticText { on(.error, color: .ofCommand) }

    /// Returns the form for a console. Lines for a pipe have 100 columns.
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

// Each of these types declares all of its options. The parser reads a nested group once more at
// every level. It also searches the whole program for each type of group.

/// The output options of verbs that print one result.
struct ResultOptions: ParsableArguments, OutputChoices {
    @Flag(help: .json) var json = false
    @Flag(name: .shortAndLong, help: .quiet) var quiet = false
}

/// The output options of verbs that print a list.
struct ListOptions: ParsableArguments, OutputChoices {
    @Flag(help: .json) var json = false
    @Flag(name: .shortAndLong, help: .quiet) var quiet = false
    @Option(help: .color) var color = ColorChoice.auto

    func validate() throws { ColorChoice.ofCommand = color }
}

/// The output options of verbs that print a list and by default leave part of it out.
struct DetailOptions: ParsableArguments, OutputChoices {
    @Flag(help: .json) var json = false
    @Flag(name: .shortAndLong, help: .quiet) var quiet = false
    @Option(help: .color) var color = ColorChoice.auto
    @Flag(name: .shortAndLong, help: .verbose) var verbose = false

    func validate() throws {
        ColorChoice.ofCommand = color
        try refuseContradiction()
    }
}

/// The output options of verbs that transfer files.
struct OutputOptions: ParsableArguments, OutputChoices {
    @Flag(help: .json) var json = false
    @Flag(name: .shortAndLong, help: .quiet) var quiet = false
    @Option(help: .color) var color = ColorChoice.auto
    @Flag(name: .shortAndLong, help: .verbose) var verbose = false

    @Flag(help: "No live progress on a terminal, no lines of progress elsewhere.")
    var noProgress = false

    func validate() throws {
        ColorChoice.ofCommand = color
        try refuseContradiction()
    }
}

extension OutputChoices {
    /// Throws if both `--quiet` and `--verbose` are given.
    fileprivate func refuseContradiction() throws {
        if quiet, verbose { throw ValidationError("--quiet and --verbose exclude each other.") }
    }
}

// The help texts of options that several verbs have.

extension ArgumentHelp {
    static let json: ArgumentHelp = "Write JSON for scripts to standard output."
    static let quiet: ArgumentHelp = "Say only what failed."
    static let color = ArgumentHelp("Colour: auto, always or never.", valueName: "when")
    static let verbose: ArgumentHelp = "Say also what was kept."
    static let wait = ArgumentHelp(
        "Wait for another run's end, at most so long.", valueName: "time")
    static let only = ArgumentHelp(
        "Only resources with this tag, or whose target matches this pattern, such as 'Caches/py/**'; repeatable.",
        valueName: "tag|pattern")
    static let skip = ArgumentHelp(
        "No resources with this tag, or whose target matches this pattern; repeatable.",
        valueName: "tag|pattern")
    static let platform = ArgumentHelp(
        "Of Python's wheels the best ones for this platform, as pip chooses: manylinux_2_28_x86_64, win_amd64.",
        valueName: "platform")
    static let python = ArgumentHelp(
        "Of Python's wheels the best ones for this version, as pip chooses: 3.12.",
        valueName: "version")
    static let strictLists: ArgumentHelp = "Refuse a list of which an entry cannot be taken."
    static let requirePinned: ArgumentHelp =
        "Refuse a manifest in which a resource has no sha256 or better."
}
