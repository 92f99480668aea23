import ArgumentParser
import MirrorKit

/// How manifests are fetched: the options of all verbs that read remembered manifests.
protocol ManifestNetwork {
    /// Whether mirror makes no request.
    var offline: Bool { get }
    /// Whether a list is refused of which an entry cannot be taken.
    var strict: Bool { get }
    /// The settings for connections to servers.
    var configuration: Configuration { get }
}

/// How mirror connects to a manifest's server, for verbs that use no other server.
struct ManifestNetworkOptions: ParsableArguments, ManifestNetwork {
    @Flag(name: .long, help: "No request: use the last good copy of a manifest that has a URL.")
    var offline = false

    /// These verbs fetch nothing that a list names.
    var strict: Bool { false }

    @OptionGroup var connection: ConnectionOptions

    var configuration: Configuration { connection.configuration }
}
