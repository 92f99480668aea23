import ArgumentParser
import MirrorKit
import MirrorModel

/// The manifests that a command was given, read and checked against the options.
struct ManifestArguments {
    static let help = ArgumentHelp(
        "A manifest, or a list as `mirror import` reads it: a path, an http(s) URL, or - for standard input. Without one, those that this root remembers.",
        valueName: "manifest")

    let locations: [String]
    let network: any ManifestNetwork
    /// Format and base for arguments that are lists.
    var lists: ImportOptions?
    /// Whether each manifest must have a name, because files that it no longer names will be
    /// removed.
    var needsNames = false
    /// Whether each resource must be pinned.
    var needsPins = false
    /// Whether a list is refused of which an entry cannot be taken, whatever the network options say.
    var isStrict = false

    /// The manifests as sources; those that the root remembers are not among them.
    ///
    /// Throws `MirrorError` with `usage`.
    func sources() throws -> [ManifestSource] {
        try locations.map { try ManifestSource(argument: $0) }
    }

    private func hint() throws -> ListHint { try lists?.hint() ?? ListHint() }

    /// Reads the manifests; throws `ManifestRefusal` or `MirrorError`.
    func load(in session: MirrorSession) async throws -> [Manifest] {
        try await load(try sources(), fresh: [], in: session).manifests
    }

    /// Reads manifests again. Those of the URLs in `fresh` come from their last good copies.
    func load(
        _ sources: [ManifestSource], fresh: Set<ManifestSource>, in session: MirrorSession
    ) async throws -> LoadedManifests {
        CommandStage.enter(.readingManifests)
        let loaded = try await session.manifests.load(
            sources, isOffline: network.offline, fresh: fresh, hint: try hint())
        loaded.showNotices()
        try refuseGaps(in: loaded)
        for (position, manifest) in loaded.manifests.enumerated() {
            if needsNames, manifest.name == nil {
                throw MirrorError(
                    .manifestInvalid,
                    "\(manifest.owner): --prune needs to know which files are the manifest's. Add a name to it."
                )
            }
            if needsPins {
                let isNamed = sources.count == loaded.manifests.count
                try manifest.refuseUnpinned(label: isNamed ? sources[position].label : nil)
            }
        }
        return loaded
    }

    /// Reads the manifests that are given, else those that the root remembers; having none is no
    /// error.
    func loadKnown(in session: MirrorSession) async throws -> [Manifest] {
        CommandStage.enter(.readingManifests)
        let sources = try sources()
        let loaded =
            sources.isEmpty
            ? try await session.manifests.loadRemembered(isOffline: network.offline)
            : try await session.manifests.load(
                sources, isOffline: network.offline, hint: try hint())
        loaded.showNotices()
        try refuseGaps(in: loaded)
        return loaded.manifests
    }

    private func refuseGaps(in loaded: LoadedManifests) throws {
        guard isStrict || network.strict else { return }
        for decoded in loaded.decoded {
            try decoded.refuseGaps(label: decoded.manifest.label ?? decoded.manifest.owner)
        }
    }
}

extension LoadedManifests {
    /// Prints the notices about manifests, e.g. taken from the last good copy.
    fileprivate func showNotices() {
        for notice in notices { Console.error.line("mirror: note: \(notice.sentence.printable)") }
    }
}
