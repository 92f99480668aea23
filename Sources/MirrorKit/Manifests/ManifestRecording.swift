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

    /// Takes the copies of manifests that the index does not know yet, by their names, while their plan
    /// is executed: to copy and flush a long manifest takes as long as some hundred files.
    ///
    /// A copy that no row names in the end is removed by a later run (`ManifestCopy.sweep`). One that
    /// cannot be taken now is taken afterwards.
    func firstCopies() async -> [String: ManifestCopy.Taken] {
        if known.isEmpty || plan.isEmpty { return [:] }
        let copies = try? await Offload.run {
            let names = Set(try engine.index.manifests().map(\.name))
            return known.reduce(into: [String: ManifestCopy.Taken]()) { copies, manifest in
                let name = manifest.record.name
                guard !names.contains(name), let text = manifest.text, manifest.isAsRead else {
                    return
                }
                copies[name] = try? ManifestCopy.write(text, of: name, in: engine.root)
            }
        }
        return copies ?? [:]
    }

    /// Writes the rows of the manifests.
    ///
    /// A run that finds nothing to do leaves the index as it is, unless a manifest has another
    /// place or another text.
    ///
    /// - Parameter copies: those that `firstCopies` took.
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
