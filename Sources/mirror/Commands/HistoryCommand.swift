import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror history`: lists the last runs.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List the last runs: when, how long, what they did, how they ended.",
        discussion: """
            The index remembers the last 100 runs that had something to do; a run that finds \
            everything in place leaves no trace. A run without an end is under way, or was killed. \
            `mirror why TARGET` says what those runs decided about one file.

            EXAMPLES:
              mirror history
              mirror history --last 5
              mirror history --json | jq -r '.runs[] | select(.exit != 0) | .started'
            """)

    @Option(name: .long, help: ArgumentHelp("How many runs.", valueName: "n"))
    var last = 30

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        guard last > 0 else { throw ValidationError("--last takes a whole number of at least 1.") }
    }

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        let runs = try await session.history.runs(limit: last)
        HistoryOutput(options: output, root: session.root).show(runs)
        if Console.output.writeError != nil { throw ExitCode(74) }
    }
}
