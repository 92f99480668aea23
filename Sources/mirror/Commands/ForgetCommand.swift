import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror forget`: makes the root forget a manifest.
struct ForgetCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget a manifest that this root remembers.",
        discussion: """
            Its place and its last good copy are forgotten. Its files are left, and nobody owns \
            them any more; with --delete those go that are as mirror put them there. Files that \
            another manifest owns too stay its own.

            EXAMPLES:
              mirror forget field-maps
              mirror forget field-maps --delete --dry-run
            """)

    @Argument(
        help: ArgumentHelp("The manifest's name, as `mirror manifests` says.", valueName: "name"),
        completion: Suggestions.names)
    var name: String

    @Flag(name: .long, help: "Remove its files too, where they are unchanged.")
    var delete = false

    @Flag(name: .long, help: "Say what would be done, and do nothing.")
    var dryRun = false

    @Option(
        name: .long,
        help: ArgumentHelp("Wait for another run's end, at most so long.", valueName: "time"))
    var wait: DurationText?

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        let report = try await session.manifests.forget(
            name, deleting: delete, isDryRun: dryRun, waitingSeconds: wait?.seconds ?? 0)
        ForgetOutput(options: output).show(report)
        if Console.output.writeError != nil { throw ExitCode(74) }
        if !report.failures.isEmpty { throw ExitCode(1) }
    }
}
