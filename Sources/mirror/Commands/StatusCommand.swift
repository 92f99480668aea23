import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror status`: shows which files are in the tree, how fresh they are, and how sure mirror is.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say what is in the tree, how fresh, and how sure.",
        discussion: """
            Looks at the index and at the files' times and sizes; reads no file and asks no server. \
            `mirror verify` reads every file. A file that had to make room for a new version is listed \
            as a conflict, until `mirror resolve` ends it.

            EXAMPLES:
              mirror status
              mirror status --json | jq -r '.files[] | select(.state != "intact") | .path'
            """)

    @Argument(help: ManifestArguments.help)
    var manifests: [String] = []

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "How a manifest's server is talked to")
    var network: ManifestNetworkOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root, configuration: network.configuration)
        try session.requireRoot()
        let manifests = try await ManifestArguments(locations: manifests, network: network)
            .loadKnown(in: session)
        let status = StatusOutput(options: output, root: session.root)
        try await session.forEachFile(of: manifests) { status.show($0) }
        status.end()
    }
}
