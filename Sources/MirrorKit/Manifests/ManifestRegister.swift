internal import MirrorManifests
internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// The manifests that a session reads, and what it has read of them.
///
/// A session reads manifests before it makes a plan, and its root remembers them only once that plan
/// was executed. It belongs to the session's actor, on which its functions run.
final class ManifestRegister {
    private let root: String
    private let configuration: Configuration
    private let engine: SharedEngine
    /// What was read last, by the names of the manifests.
    private var fetched: [String: FetchedManifest] = [:]

    init(root: String, _ configuration: Configuration, _ engine: SharedEngine) {
        (self.root, self.configuration, self.engine) = (root, configuration, engine)
    }

    /// Reads manifests.
    func load(
        _ sources: [ManifestSource], isOffline: Bool, fresh: Set<ManifestSource>, hint: ListHint,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> LoadedManifests {
        let load = { (view: TreeView) async throws -> LoadedManifests in
            // A closure runs on the actor only if it captures the isolated parameter (SE-0420).
            _ = isolation
            let loader = ManifestLoader(
                view: view, configuration: self.configuration, isOffline: isOffline, fresh: fresh,
                hint: hint)
            var result = LoadedManifests()
            for source in sources { self.add(try await loader.load(source), to: &result) }
            return result
        }
        // Only manifests with a URL, and remembered ones, have rows in the index. Opening the index
        // takes longer than reading a short manifest.
        if sources.allSatisfy(\.isLocal) {
            do {
                return try await load(TreeView(root: nil, index: nil))
            } catch let refusal as ManifestRefusal {
                // The root may remember the hint that a list was read with.
                guard hint.isEmpty, !sources.contains(.standardInput) else { throw refusal }
            } catch let error as MirrorError {
                // The copy of a file may be used, but bytes from a pipe come only once.
                guard error.code == .manifestUnreadable, !sources.contains(.standardInput)
                else { throw error }
            }
        }
        return try await engine.reading(load)
    }

    /// Reads the manifests that the root remembers.
    ///
    /// - Parameter passesOverLost: whether one without a readable file or copy is skipped, with a
    ///   notice, and it is no error if there are none.
    func loadRemembered(
        isOffline: Bool, passesOverLost: Bool, isolation: isolated (any Actor)? = #isolation
    ) async throws -> LoadedManifests {
        try await engine.reading { view in
            // A closure runs on the actor only if it captures the isolated parameter (SE-0420).
            _ = isolation
            let known = try ManifestMemory.all(in: view)
            guard passesOverLost || !known.isEmpty else { throw MirrorError.noManifest(self.root) }
            let loader = ManifestLoader(
                view: view, configuration: self.configuration, isOffline: isOffline)
            var result = LoadedManifests()
            for memory in known {
                do {
                    self.add(try await loader.load(memory), to: &result)
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
        if let memory = loaded.memory { fetched[memory.record.name] = memory }
    }

    /// What was read of a plan's manifests, to be recorded once the plan is executed.
    func recording(of plan: Plan, in engine: Engine) -> ManifestRecording {
        let known = plan.manifests.compactMap { manifest -> FetchedManifest? in
            guard let memory = fetched[manifest.owner],
                memory.whereabouts == manifest.whereabouts
            else { return nil }
            return memory
        }
        return ManifestRecording(known, of: plan, in: engine)
    }
}
