import ArgumentParser
import MirrorKit

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
