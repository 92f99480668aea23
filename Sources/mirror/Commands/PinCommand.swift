import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror pin`: writes sizes and digests of the fetched files into a manifest.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Write sizes and digests of what was fetched into a manifest.",
        discussion: """
            Reads the files that the manifest's resources became, and adds size and sha256 beside the \
            url of each one that does not declare them. The rest of the text stays as it is: order, \
            form, notes. What was not fetched, or was changed since, is left as it is. When a \
            declared size or digest is not what is there, nothing is written, exit 1. A pinned resource that \
            does not say otherwise is not asked for again: leave out with --skip what is meant to change.

            EXAMPLES:
              mirror sync manifest.json && mirror pin manifest.json
              mirror pin --dry-run manifest.json
              mirror pin --skip live manifest.xml && git diff manifest.xml
            """)

    @Argument(
        help: ArgumentHelp(
            "The path of a manifest in JSON, XML or Metalink.", valueName: "manifest"))
    var manifest: String

    @Flag(name: .long, help: "Say what would be written, and write nothing.")
    var dryRun = false

    @Option(
        name: .long,
        help: ArgumentHelp("Only resources with this tag; repeatable.", valueName: "tag"))
    var only: [String] = []

    @Option(
        name: .long, help: ArgumentHelp("No resources with this tag; repeatable.", valueName: "tag")
    )
    var skip: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    func run() async throws {
        guard case .path(let path) = try ManifestSource(argument: manifest) else {
            throw MirrorError(
                .usage, "mirror pin writes into a file. Name the path of a manifest.")
        }
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        var options = PlanOptions()
        options.only = Set(only)
        options.skip = Set(skip)
        options.refusesUnknownNames = true
        let report = try await session.pin(path, options: options, isDryRun: dryRun)
        PinOutput(options: output).show(report)
        if Console.output.writeError != nil { throw ExitCode(74) }
        if !report.contradictions.isEmpty { throw ExitCode(1) }
    }
}
