import ArgumentParser
import Glibc
import MirrorKit
import MirrorModel

/// `mirror status`: shows what is in the tree, how fresh, how sure, and what needs attention.
struct StatusCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say what is in the tree, how fresh, how sure, and what needs attention.",
        discussion: """
            Looks at the index and at the files' times and sizes; reads no file and asks no server. \
            `mirror verify` reads every file. A file that had to make room for a new version is listed \
            as a conflict, until `mirror resolve` ends it. With --due, --path or --only, the totals are \
            those of the selected files, and each of them has a line.

            EXAMPLES:
              mirror status
              mirror status -v                   every file: until when it is fresh, how sure mirror is
              mirror status --due --path 'Caches/*'
              mirror status --json | jq -r '.files[] | select(.state != "intact") | .path'
            """)

    @Argument(help: ManifestArguments.help, completion: .file())
    var manifests: [String] = []

    @Flag(name: .long, help: "Only files that the next sync asks about.")
    var due = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only files whose path matches this pattern of * ? [ ]; * matches / too. Repeatable.",
            valueName: "glob"))
    var path: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp("Only resources with this tag; repeatable.", valueName: "tag"),
        completion: Suggestions.tags)
    var only: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: DetailOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        try session.requireRoot()
        let manifests = try await ManifestArguments(
            locations: manifests, network: network, lists: lists
        )
        .loadKnown(in: session)
        let runs = try await session.history.runs(limit: 100)
        let isSelection = due || !path.isEmpty || !only.isEmpty
        let status = StatusOutput(
            options: output, root: session.root, runs: runs,
            troubles: try await session.history.troubles(of: runs), isSelection: isSelection)
        let (due, patterns) = (due, path)
        let matches = { @Sendable (path: String) in
            patterns.contains { fnmatch($0, path, 0) == 0 }
        }
        let selects = { @Sendable (file: StoredFile) in
            if due { guard case .due = file.freshness else { return false } }
            return patterns.isEmpty || matches(file.target.path)
        }
        let selectsIntact = { @Sendable (file: borrowing IntactFile) in
            if due, !file.isDue { return false }
            return patterns.isEmpty || matches(file.target.path)
        }
        status.begin()
        try await session.forEachFile(of: manifests, only: Set(only)) { file in
            if selectsIntact(file) { status.count(file) }
        } _: { file in
            if selects(file) { status.count(file) }
        }
        guard status.conclude() else { return }
        try await session.forEachFile(of: manifests, only: Set(only)) { file in
            if selectsIntact(file) { status.list(file) }
        } _: { file in
            if selects(file) { status.list(file) }
        }
        status.flush()
    }
}
