internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// Records the manifests of an executed plan in the index, with their last good copies.
struct ManifestRecording: Sendable {
    /// What was read before the run; somebody may have read another text since.
    private let known: [FetchedManifest]
    private let plan: Plan
    private let engine: Engine

    init(_ known: [FetchedManifest], of plan: Plan, in engine: Engine) {
        (self.known, self.plan, self.engine) = (known, plan, engine)
    }

    /// Remembers the manifests that the index does not know yet while their plan is executed, and returns
    /// their copies by their names.
    ///
    /// Whatever ends the run, the next one needs not be told about them; and to copy and flush a long
    /// manifest takes as long as some hundred files. A copy that no row names in the end is removed
    /// by a later run (`ManifestCopy.sweep`). What fails here is done afterwards.
    func rememberNew() async -> [String: ManifestCopy.Taken] {
        if known.isEmpty || plan.isEmpty { return [:] }
        let copies = try? await Offload.run {
            let rows = try engine.index.manifests()
            let root = LocalManifest.canonical(folder: engine.root.path)
            let names = Set(rows.map(\.name))
            // What a former name owns goes to the new one in the end.
            let renamed = Set(
                FormerNames.of(plan.manifests, among: rows, root: root).values
                    .map { plan.manifests[$0].owner })
            return known.reduce(into: [String: ManifestCopy.Taken]()) { copies, manifest in
                let name = manifest.record.name
                guard !names.contains(name), let text = manifest.text, manifest.isAsRead,
                    let copy = try? ManifestCopy.write(text, of: name, in: engine.root)
                else { return }
                copies[name] = copy
                if !renamed.contains(name) { try? remember(manifest, copy, at: root) }
            }
        }
        return copies ?? [:]
    }

    /// Writes the row of a manifest whose plan is being executed.
    private func remember(
        _ manifest: FetchedManifest, _ copy: ManifestCopy.Taken, at root: String
    ) throws {
        var record = try manifest.record(
            after: nil, in: engine.root, at: root, isSynced: true, copy: copy)
        record?.syncedAt = nil
        if let record { try engine.index.changes.put(record) }
    }

    /// Writes the rows of the manifests.
    ///
    /// A run that finds nothing to do leaves the index as it is, unless a manifest has another
    /// place or another text.
    ///
    /// - Parameter copies: those that `rememberNew` took.
    func write(copies: [String: ManifestCopy.Taken]) async throws {
        guard !known.isEmpty else { return }
        try await Offload.run {
            let root = LocalManifest.canonical(folder: engine.root.path)
            let rows = try engine.index.manifests()
            var changed: [ManifestRecord] = []
            for manifest in known {
                let row = rows.first { $0.name == manifest.record.name }
                let record = try manifest.record(
                    after: row, in: engine.root, at: root, isSynced: !plan.isEmpty,
                    copy: copies[manifest.record.name])
                if let record { changed.append(record) }
            }
            try engine.index.changes.renameManifests(
                FormerNames.of(plan.manifests, among: rows, root: root)
                    .map { (old: $0.key, new: plan.manifests[$0.value].owner) })
            guard !changed.isEmpty else { return }
            for record in changed { try engine.index.changes.put(record) }
            let names = Set(rows.compactMap(\.copyName))
            guard changed.contains(where: { $0.copyName.map(names.contains) == false }) else {
                return
            }
            // The row that names the previous copy must be gone before that copy is.
            do throws(Errno) { try engine.index.makeDurable() } catch { throw MirrorError(error) }
            ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
        }
    }
}
