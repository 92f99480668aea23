import ArgumentParser
import MirrorKit
import Synchronization

/// The root command: its description, its verbs, and where to read more.
struct MirrorCommand: AsyncParsableCommand {
    static let version = MirrorVersion.current

    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Makes a local tree hold exactly what a manifest says.",
        discussion: """
            A manifest (JSON, XML or Metalink 4) lists remote files with their paths, sizes and \
            digests. mirror plans what is to be done, resumes what was interrupted, verifies \
            every byte, and promotes finished files atomically.

            EXAMPLES:
              mirror sync manifest.json          make the tree match
              mirror plan manifest.json          say what sync would do, and why
              mirror status                      what is in the tree, how fresh, how sure

            EXIT CODES:
            \(ExitWords.help)
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Everyday",
                subcommands: [
                    SyncCommand.self, PlanCommand.self, StatusCommand.self, GetCommand.self,
                    VerifyCommand.self, ResolveCommand.self, PruneCommand.self, EvictCommand.self,
                ]),
            CommandGroup(
                name: "Manifests",
                subcommands: [
                    CheckCommand.self, AddCommand.self, RemoveCommand.self, PinCommand.self,
                    ManifestsCommand.self, ForgetCommand.self,
                ]),
            CommandGroup(
                name: "Lists",
                subcommands: [ImportCommand.self, ExportCommand.self, ConvertCommand.self]),
            CommandGroup(
                name: "Running",
                subcommands: [
                    WatchCommand.self, ScheduleCommand.self, ServeCommand.self,
                    SettingsCommand.self,
                ]),
            CommandGroup(
                name: "Looking",
                subcommands: [
                    WhyCommand.self, HistoryCommand.self, ReportCommand.self, ProbeCommand.self,
                ]),
            CommandGroup(
                name: "Steering",
                subcommands: [
                    JobsCommand.self, PauseCommand.self, ResumeCommand.self, CancelCommand.self,
                ]),
        ])

    /// Returns the command that these words ask for.
    ///
    /// The verb parses the words by itself. Building the root and all its verbs takes a sixth of a
    /// short run. If the result is not the verb itself, such as its help, the root parses the
    /// words.
    static func parsed(from words: [String]) async throws -> any ParsableCommand {
        let verb = configuration.subcommands.first { $0._commandName == words.first }
        if let verb = verb as? any AsyncParsableCommand.Type,
            let command = try? await verb.asyncParseAsRoot(Array(words.dropFirst())),
            type(of: command) == verb
        {
            return command
        }
        return try await asyncParseAsRoot(words)
    }
}

/// The work that the command is doing. The message about a passed deadline names it.
enum CommandStage: Sendable {
    case beginning, readingManifests, waitingForLock, lookingAtTree, reading, removing, running
    case asking, writing, resting, serving, startingPrograms

    private static let current = Mutex(CommandStage.beginning)

    /// Notes the stage that begins now.
    static func enter(_ stage: CommandStage) { current.withLock { $0 = stage } }

    /// The current stage.
    static var now: CommandStage { current.withLock { $0 } }

    /// The words for this work, as the end of a sentence about the deadline.
    var words: String {
        switch self {
        case .beginning: "before anything was done"
        case .readingManifests: "while the manifests were read"
        case .waitingForLock: "while another run held the lock"
        case .lookingAtTree: "while the tree was looked at"
        case .reading: "while files were read"
        case .removing: "while files were removed"
        case .asking: "while servers were asked"
        case .writing: "while it was written"
        case .startingPrograms: "while programs of the end of the run worked"
        case .serving: "while the tree was served"
        case .running, .resting: "while what had ended was put away"
        }
    }

    /// The work as the progress display names it.
    ///
    /// `nil` means that the command does no work that has progress.
    func progress(afterRun hasEnded: Bool) -> String? {
        switch self {
        case .beginning, .resting, .serving, .startingPrograms: nil
        case .readingManifests: "reading manifests"
        case .waitingForLock: "taking the lock"
        case .lookingAtTree: "looking at the tree"
        case .reading: "reading files"
        case .removing: "removing"
        case .asking: "asking the server"
        case .writing: "writing"
        case .running: hasEnded ? "putting away" : "beginning"
        }
    }
}

// The command, or the current sync of a watch, has a beginning. Its deadline and its seconds count
// from there.

extension MirrorCommand {
    private static let instant = Mutex(ContinuousClock.now)

    /// The instant at which the command began. `main` reads it first, and so sets it.
    static var began: ContinuousClock.Instant { instant.withLock { $0 } }

    /// Sets the beginning to now, for the next sync of a watch.
    static func restartTime() { instant.withLock { $0 = .now } }

    /// Seconds since the command began.
    static var seconds: Double {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
