internal import MirrorModel

/// A manifest that this root remembers, and what is known of its last good copy.
struct ManifestRecord: Sendable, Hashable {
    /// Where it is: an absolute path, or a URL; unique.
    var location: String
    /// Who owns its targets.
    var owner: String
    /// Whether the location is a URL or a path.
    var kind: Kind
    /// When a sync with it last ended.
    var syncedAt: Instant?
    /// The file in `.mirror/manifests/` that holds the last good copy.
    var copyName: String?
    /// The sha256 of that copy.
    var copyDigest: Digest?
    /// Where the copy came from; nil for a path.
    var provenance: Provenance?
    /// What the server said of the copy.
    var validators = Validators()
    /// Until when HTTP caching calls the copy fresh.
    var freshUntil: Instant?

    /// What a location is.
    enum Kind: String, Sendable {
        case path, url
    }
}
