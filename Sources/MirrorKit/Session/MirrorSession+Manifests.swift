internal import MirrorModel

extension MirrorSession {
    /// Reads manifests; without any, those that this root remembers.
    ///
    /// A manifest that comes by URL is asked for conditionally, and its last good copy serves, with a
    /// notice, when the network does not. Throws `ManifestRefusal`, or `MirrorError` with
    /// `manifestUnreadable` or `usage`.
    public func loadManifests(
        _ sources: [ManifestSource], isOffline: Bool = false
    ) async throws -> LoadedManifests {
        // Only what comes by URL, or is remembered, has anything in the index; opening it takes longer
        // than reading a short manifest.
        if !sources.isEmpty, sources.allSatisfy(\.isLocal) {
            return try await load(sources, TreeView(root: nil, index: nil), isOffline)
        }
        return try await reading { view in
            let sources = try sources.isEmpty ? remembered(in: view) : sources
            return try await load(sources, view, isOffline)
        }
    }

    private func load(
        _ sources: [ManifestSource], _ view: TreeView, _ isOffline: Bool
    ) async throws -> LoadedManifests {
        let loader = ManifestLoader(
            view: view, configuration: configuration, isOffline: isOffline)
        var result = LoadedManifests()
        for source in sources {
            let loaded = try await loader.load(source)
            result.manifests.append(loaded.decoded.manifest)
            result.decoded.append(loaded.decoded)
            if let notice = loaded.notice { result.notices.append(notice) }
            if let memory = loaded.memory { fetchedManifests[memory.record.location] = memory }
        }
        return result
    }

    /// Reads one manifest for its own sake: no root is looked for, and nothing is kept.
    public static func read(
        _ source: ManifestSource, configuration: Configuration = Configuration()
    ) async throws -> DecodedManifest {
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: configuration, isOffline: false)
        return try await loader.load(source).decoded
    }

    /// The manifests that this root remembers; empty when none was synced yet.
    public func rememberedManifests() async throws -> [ManifestSource] {
        try await reading { view in
            try view.index?.manifests().compactMap(ManifestSource.init(_:)) ?? []
        }
    }

    private func remembered(in view: TreeView) throws -> [ManifestSource] {
        let records = try view.index?.manifests() ?? []
        guard !records.isEmpty else {
            throw MirrorError(
                .usage,
                "\(root): no manifest was given, and this root remembers none. Name one: a path, a URL, or - for standard input."
            )
        }
        return try records.map { record in
            guard let source = ManifestSource(record) else {
                throw MirrorError(
                    .manifestUnreadable,
                    "\(SourceKey(text: record.location)): its query is not kept, so it cannot be asked for again. Name the whole URL."
                )
            }
            return source
        }
    }

    /// Writes what is to be remembered of the manifests of an executed plan.
    func remember(_ manifests: [Manifest], in engine: Engine) async throws {
        let known = manifests.compactMap { manifest in
            manifest.rememberedAs.flatMap { fetchedManifests[$0] }
        }
        guard !known.isEmpty else { return }
        try await Offload.run {
            let rows = try engine.index.manifests()
            for manifest in known {
                var record = manifest.record
                // A run that finds nothing new leaves the index as it is.
                let isNews = !rows.contains {
                    $0.location == record.location && $0.owner == record.owner
                }
                guard record.kind == .url || isNews else { continue }
                if let text = manifest.newCopy, let name = record.copyName {
                    try ManifestCopy.write(text, name: name, in: engine.root)
                }
                record.syncedAt = SystemClock.now()
                try engine.index.put(record)
            }
        }
    }
}

extension Manifest {
    /// The location under which it is remembered; nil for one that cannot be read again.
    var rememberedAs: String? {
        switch whereabouts {
        case .file(let path): path
        case .url(let key): key.text
        case .code, .standardInput: nil
        }
    }
}

extension ManifestSource {
    /// A remembered manifest; nil when its URL had a query, of which only a hash is kept.
    init?(_ record: ManifestRecord) {
        switch record.kind {
        case .path: self = .path(record.location)
        case .url:
            guard !record.location.utf8.contains(UInt8(ascii: "?")),
                let url = try? SourceURL(record.location, relativeTo: nil)
            else { return nil }
            self = .url(url)
        }
    }
}
