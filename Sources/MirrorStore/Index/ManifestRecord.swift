package import MirrorModel

/// A manifest that this root remembers, and the facts about its last good copy.
package struct ManifestRecord: Sendable, Hashable {
    /// Its name, which owns its targets; unique.
    package var name: String
    /// Where it was last synced from.
    package var place: ManifestPlace
    /// How many resources it had.
    package var resources: Int?
    /// The file at the place when the copy was taken; a file that is like it is not read again for that.
    package var stamp: FileStamp?
    /// When a sync with it last ended that had something to do, or found another text or place.
    package var syncedAt: Instant?
    /// When the copy was taken, or last confirmed by the server.
    package var copiedAt: Instant?
    /// The file in `.mirror/manifests/` that holds the last good copy.
    package var copyName: String?
    /// The sha256 of that copy.
    package var copyDigest: Digest?
    /// Where the copy came from; nil for a path.
    package var provenance: Provenance?
    /// The validators that the server sent with the copy.
    package var validators = Validators()
    /// Until when HTTP caching calls the copy fresh.
    package var freshUntil: Instant?
    /// The hint that it was read with, if it is a list of another program.
    package var hint = ListHint()

    package init(name: String, place: ManifestPlace) {
        self.name = name
        self.place = place
    }
}

extension ManifestPlace {
    /// The columns `kind`, `location` and `beside`.
    var columns: (kind: String, location: String?, beside: String?) {
        switch self {
        case .relative(let path): ("path", nil, path)
        case .either(let relative, let absolute): ("path", absolute, relative)
        case .absolute(let path): ("path", path, nil)
        case .url(let key): ("url", key.text, nil)
        }
    }

    /// The place in the columns; nil if they make no sense.
    package init?(kind: String, location: String?, beside: String?) {
        switch (kind, location, beside) {
        case ("path", nil, let beside?): self = .relative(beside)
        case ("path", let location?, let beside?):
            self = .either(relative: beside, absolute: location)
        case ("path", let location?, nil): self = .absolute(location)
        case ("url", let location?, nil): self = .url(SourceKey(text: location))
        default: return nil
        }
    }
}
