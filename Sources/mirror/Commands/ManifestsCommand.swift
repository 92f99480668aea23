import ArgumentParser
import MirrorKit
import MirrorModel

/// `mirror manifests`: lists the manifests that this root remembers.
struct ManifestsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifests",
        abstract: "List the manifests that this root remembers.",
        discussion: """
            A root remembers each manifest that was synced by its name: where it is, and its last \
            good copy, which serves when it is gone. A place inside the root or beside it is kept \
            relative to the root, so that both can move together. The time of the last sync is \
            that of the last one that had something to do.

            EXAMPLES:
              mirror manifests
              mirror manifests --json | jq -r '.manifests[] | select(.found == false) | .name'
            """)

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        let session = try MirrorSession(root: root.root)
        try session.requireRoot()
        let manifests = try await session.manifests.remembered()
        ManifestsOutput(options: output, root: session.root).show(manifests)
        if Console.output.writeError != nil { throw ExitCode(74) }
    }
}
