internal import MirrorManifests
public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
    /// Reads manifests; if none is given, those that this root remembers.
    ///
    /// A manifest with a URL is requested conditionally. If the network fails, its last good copy
    /// is used, with a notice. The same holds for the copy of a file that is gone. Throws
    /// `ManifestRefusal`, or `MirrorError` with `manifestUnreadable` or `usage`.
    ///
    /// - Parameters:
    ///   - fresh: URLs that are not asked for, because their copies are known to be fresh.
    ///   - hint: what is known of sources that are lists of other programs; it is remembered once
    ///     their plan has been executed.
    public func loadManifests(
        _ sources: [ManifestSource], isOffline: Bool = false, fresh: Set<ManifestSource> = [],
        hint: ListHint = ListHint()
    ) async throws -> LoadedManifests {
        if sources.isEmpty {
            return try await register.loadRemembered(isOffline: isOffline, passesOverLost: false)
        }
        return try await register.load(sources, isOffline: isOffline, fresh: fresh, hint: hint)
    }

    /// Reads the manifests that this root remembers; it is no error if there are none.
    ///
    /// A manifest without a readable file or copy is skipped, with a notice. Throws
    /// `ManifestRefusal`, or `MirrorError`.
    public func loadRememberedManifests(isOffline: Bool = false) async throws -> LoadedManifests {
        try await register.loadRemembered(isOffline: isOffline, passesOverLost: true)
    }

    /// Reads one manifest by itself: without a root, and without remembering it.
    ///
    /// Throws `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`.
    ///
    /// - Parameter hint: what is known of it if it is a list of another program.
    public static func read(
        _ source: ManifestSource, configuration: Configuration = Configuration(),
        hint: ListHint = ListHint()
    ) async throws -> DecodedManifest {
        let loader = ManifestLoader(
            view: TreeView(root: nil, index: nil), configuration: configuration, isOffline: false,
            hint: hint)
        return try await loader.load(source).decoded
    }

    /// The manifests that this root remembers, in the order of their names.
    ///
    /// The list is empty if none was synced yet.
    public func rememberedManifests() async throws -> [RememberedManifest] {
        try await engine.look { view in
            try ManifestMemory.all(in: view).map(RememberedManifest.init)
        }
    }

    /// The sources from which the manifests that this root remembers can be read.
    ///
    /// Throws `MirrorError` with `usage` if the root remembers none.
    public func rememberedSources() async throws -> [ManifestSource] {
        try await engine.reading { view in
            let known = try ManifestMemory.all(in: view)
            guard !known.isEmpty else { throw MirrorError.noManifest(root) }
            return known.map(\.source)
        }
    }

    /// The hints of the remembered manifests that are lists, by their sources.
    ///
    /// Throws `MirrorError` if the index cannot be read.
    public func rememberedHints() async throws -> [ManifestSource: ListHint] {
        try await engine.reading { view in
            try ManifestMemory.all(in: view).reduce(into: [:]) { hints, memory in
                if !memory.record.hint.isEmpty { hints[memory.source] = memory.record.hint }
            }
        }
    }

    /// Writes a manifest to a file, atomically: an existing one is replaced whole or not at all.
    ///
    /// Throws `ManifestRefusal` for values that the notation cannot express, and `MirrorError` with
    /// `usage`, `inputOutput` or `noSpace`; the file is then as it was.
    public static func write(
        _ manifest: Manifest, to path: String, with writer: ManifestWriter
    ) async throws {
        try await Offload.run {
            var writer = writer
            let file = try FileReplacement(of: path)
            writer.folder = writer.folder ?? file.folder
            try writer.check(manifest)
            try file.write { sink in try writer.write(manifest, to: sink) }
        }
    }
}
