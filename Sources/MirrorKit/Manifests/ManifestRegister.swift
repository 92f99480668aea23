internal import Synchronization

/// The manifests of a root: those that a session reads, and those that the root remembers.
///
/// A session reads manifests before it makes a plan. The root remembers them only when that plan is
/// executed.
package final class ManifestRegister: Sendable {
    let root: String
    private let configuration: Configuration
    let engine: SharedEngine
    /// The facts about the manifests that were read last, by the names of the manifests.
    private let fetched = Mutex<[String: FetchedManifest]>([:])

    init(root: String, _ configuration: Configuration, engine: SharedEngine) {
        (self.root, self.configuration, self.engine) = (root, configuration, engine)
    }

    /// The manifests that the root remembers, in the order of their names.
    ///
    /// The list is empty if no manifest was synced yet. Throws `MirrorError` with `rootUnusable`,
    /// `indexNewer` or `inputOutput`, as all queries of the index do.
    package func remembered() async throws -> [RememberedManifest] {
        try await engine.look { view in
            try ManifestMemory.all(in: view).map(RememberedManifest.init)
        }
    }

    /// The sources from which the manifests that the root remembers can be read.
    ///
    /// Throws `MirrorError` with `usage` if the root remembers none, or as `remembered` does.
    package func rememberedSources() async throws -> [ManifestSource] {
        let root = root
        return try await engine.look { view in
            let known = try ManifestMemory.all(in: view)
            guard !known.isEmpty else { throw MirrorError.noManifest(root, of: view.root?.shard) }
            return known.map(\.source)
        }
    }

    /// The hints of the remembered manifests that are lists, by their sources.
    ///
    /// Throws as `remembered` does.
    package func rememberedHints() async throws -> [ManifestSource: ListHint] {
        try await engine.look { view in
            try ManifestMemory.all(in: view).reduce(into: [:]) { hints, memory in
                if !memory.record.hint.isEmpty { hints[memory.source] = memory.record.hint }
            }
        }
    }
}

// MARK: Reading

extension ManifestRegister {
    /// Reads manifests from their sources. Without a source, reads those that the root remembers.
    ///
    /// A manifest with a URL is requested conditionally. If the network fails, its last good copy
    /// is used, with a notice. The last good copy also replaces a file that is gone. Throws
    /// `ManifestError`, or `MirrorError` with `manifestUnreadable`, `offline` or `usage`, or as
    /// `remembered` does.
    ///
    /// - Parameters:
    ///   - fresh: URLs that are not requested, because their copies are known to be fresh.
    ///   - hint: how to read sources that are lists of other programs. The root remembers the hint
    ///   when their plan is executed.
    ///   - selection: the wanted resources; the root remembers them too. `nil` stands for the
    ///   selections that it remembers.
    package func load(
        _ sources: [ManifestSource], isOffline: Bool = false, fresh: Set<ManifestSource> = [],
        hint: ListHint = ListHint(), selection: Selection?
    ) async throws -> LoadedManifests {
        var loaded =
            sources.isEmpty
            ? try await loadRemembered(isOffline ? .refused : .made, passesOverLost: false)
            : try await read(sources, isOffline ? .refused : .made, fresh: fresh, hint: hint)
        try selection?.refuseUnknownWords(in: loaded.manifests)
        if let selection {
            for at in loaded.manifests.indices { loaded.manifests[at].selection = selection }
        } else if !sources.isEmpty {
            try await recallSelections(in: &loaded)
        }
        return loaded
    }

    /// Reads manifests without a request. Without a source, reads those that the root remembers.
    ///
    /// A manifest with a URL is its last good copy, and so is a list whose files servers name.
    /// Throws as `load` does. A remembered manifest that cannot be read is skipped, with a notice.
    package func look(
        at sources: [ManifestSource], hint: ListHint = ListHint()
    ) async throws -> LoadedManifests {
        if sources.isEmpty { return try await loadRemembered(.needless, passesOverLost: true) }
        var loaded = try await read(sources, .needless, fresh: [], hint: hint)
        try await recallSelections(in: &loaded)
        return loaded
    }

    /// Gives manifests the selections that the root remembers for their names.
    private func recallSelections(in loaded: inout LoadedManifests) async throws {
        let remembered = try await rememberedSelections()
        for at in loaded.manifests.indices {
            guard let known = remembered[loaded.manifests[at].owner] else { continue }
            loaded.manifests[at].selection = known
        }
    }

    /// The selections that the root remembers, by the names of the manifests.
    private func rememberedSelections() async throws -> [String: Selection] {
        try await engine.reading(indexIsDispensable: true) { view in
            try ManifestMemory.all(in: view).reduce(into: [:]) {
                $0[$1.record.name] = $1.record.selection
            }
        }
    }

    private func read(
        _ sources: [ManifestSource], _ requests: ManifestRequests, fresh: Set<ManifestSource>,
        hint: ListHint
    ) async throws -> LoadedManifests {
        let load = { (view: TreeView, leavesParts: Bool) async throws -> LoadedManifests in
            var loader = ManifestLoader(
                view: view, configuration: self.configuration, requests: requests, fresh: fresh,
                hint: hint)
            loader.leavesParts = leavesParts
            var result = LoadedManifests()
            for source in sources { self.add(try await loader.load(source), to: &result) }
            return result
        }
        // Only manifests with a URL, and remembered ones, have rows in the index. Opening the index
        // takes longer than reading a short manifest. For a pipe the index is needed: it knows
        // whether a file was there before.
        if sources.allSatisfy({ $0.isLocal && !$0.isPipe && !$0.isLong }) {
            do {
                // The index has what servers answered before about a list. Standard input can be
                // read only once.
                let loaded = try await load(
                    TreeView(root: nil, index: nil), !sources.contains(.standardInput))
                let isComplete = loaded.decoded.allSatisfy {
                    // The root may remember the files that a list does not have itself, or the hint
                    // for a list.
                    $0.parts.isEmpty && ($0.list == nil || !hint.isEmpty)
                }
                if isComplete || sources.contains(.standardInput) { return loaded }
            } catch let refusal as ManifestError {
                // The root may remember the hint for a list that cannot be read without one.
                guard hint.isEmpty, !sources.contains(.standardInput) else { throw refusal }
            } catch let error as MirrorError {
                // The last good copy may replace the file. Bytes from standard input arrive only
                // once.
                guard error.code == .manifestUnreadable, !sources.contains(.standardInput)
                else { throw error }
            }
        }
        // A damaged index is no error here, because a sync of these manifests rebuilds it.
        return try await engine.reading(indexIsDispensable: true) { try await load($0, false) }
    }

    /// Reads the manifests that the root remembers. The result is empty if there are none.
    ///
    /// A manifest without a readable file or copy is skipped, with a notice. Throws
    /// `ManifestError`, or `MirrorError` with `offline`, or as `remembered` does.
    package func loadRemembered(isOffline: Bool = false) async throws -> LoadedManifests {
        try await loadRemembered(isOffline ? .refused : .made, passesOverLost: true)
    }

    /// Reads the manifests that the root remembers.
    ///
    /// - Parameter passesOverLost: whether a manifest without a readable file or copy is skipped,
    ///   with a notice. Without it, such a manifest is an error, and so is an empty list.
    private func loadRemembered(
        _ requests: ManifestRequests, passesOverLost: Bool
    ) async throws -> LoadedManifests {
        try await engine.reading { view in
            let known = try await Offload.run { try ManifestMemory.all(in: view) }
            guard passesOverLost || !known.isEmpty else {
                throw MirrorError.noManifest(root, of: view.root?.shard)
            }
            let loader = ManifestLoader(
                view: view, configuration: configuration, requests: requests)
            var result = LoadedManifests()
            for memory in known {
                do {
                    var loaded = try await loader.load(memory)
                    loaded.decoded.manifest.selection = memory.record.selection
                    add(loaded, to: &result)
                } catch let error as MirrorError {
                    guard passesOverLost, error.code == .manifestUnreadable else { throw error }
                    result.notices.append(Notice(error.message, remedy: error.remedy))
                }
            }
            return result
        }
    }

    private func add(_ loaded: ManifestLoader.Loaded, to result: inout LoadedManifests) {
        result.manifests.append(loaded.decoded.manifest)
        result.decoded.append(loaded.decoded)
        result.freshUntil.append(loaded.freshUntil)
        if let notice = loaded.notice { result.notices.append(notice) }
        if loaded.decoded.list != nil {
            result.notices += loaded.decoded.warnings.map { Notice("\($0.file): \($0.message).") }
        }
        guard let memory = loaded.memory else { return }
        fetched.withLock { $0[memory.record.name] = memory }
    }

    /// The facts that were read of a plan's manifests, for the index to store when the plan is
    /// executed.
    func recording(of plan: Plan, in engine: Engine) -> ManifestRecording {
        let fetched = fetched.withLock { $0 }
        let known = plan.manifests.compactMap { manifest -> FetchedManifest? in
            guard var memory = fetched[manifest.owner],
                memory.whereabouts == manifest.whereabouts
            else { return nil }
            memory.record.selection = manifest.selection
            return memory
        }
        return ManifestRecording(known, of: plan, in: engine)
    }
}

extension RememberedManifest {
    init(_ memory: ManifestMemory) {
        let record = memory.record
        self.init(name: record.name, place: memory.place, kind: .path)
        if case .url = record.place { kind = .url } else { isThere = memory.found != nil }
        resources = record.resources
        selection = record.selection
        copiedAt = record.copyName == nil ? nil : record.copiedAt
        syncedAt = record.syncedAt
    }
}

extension ManifestMemory {
    /// Where the manifest can be read.
    var source: ManifestSource {
        if case .url(let key) = record.place, !key.text.utf8.contains(UInt8(ascii: "?")),
            let url = try? SourceURL(key.text, relativeTo: nil)
        {
            return .url(url)
        }
        return .path(found ?? place)
    }
}
