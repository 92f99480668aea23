import ArgumentParser
import MirrorKit

/// How manifests are come by: what all verbs have that read remembered ones.
protocol ManifestNetwork {
    /// Whether no request is made.
    var offline: Bool { get }
    /// How servers are talked to.
    var configuration: Configuration { get }
}

/// How a manifest's server is talked to, for verbs that ask no other.
struct ManifestNetworkOptions: ParsableArguments, ManifestNetwork {
    @Flag(name: .long, help: "No request: use the last good copy of a manifest that has a URL.")
    var offline = false

    @OptionGroup var connection: ConnectionOptions

    var configuration: Configuration { connection.configuration }
}
