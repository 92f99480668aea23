internal import MirrorModel
internal import MirrorSystem

/// Forgets one manifest: its row and its copy go, and its ownership of files.
struct Forgetting: Sendable {
    let root: String
    /// The manifest's name.
    let name: String
    /// Whether the files go that are as mirror put them there, and that no other manifest owns.
    let deletesFiles: Bool

    /// What forgetting would do; nothing changes. Blocks the calling thread.
    func preview(_ view: TreeView) throws -> ForgetReport {
        try look(at: view, isDryRun: true).report
    }

    /// Forgets the manifest, unless files that were to go are still there.
    func carryOut(in engine: Engine) async throws -> ForgetReport {
        // The journal of its files would bring them back without an owner.
        let set = engine.unfinished.first { $0.owners.names.contains(name) }
        if let set { throw set.cause }
        let view = TreeView(root: engine.root, index: engine.index)
        var (report, removals) = try await Offload.run { try look(at: view, isDryRun: false) }
        let failures = await RemovalBatch.remove(removals, from: engine)
        let failed = Set(failures.map(\.file.target))
        report.failures += failures.map(\.error)
        report.removed.removeAll { failed.contains($0.target) }
        guard report.failures.isEmpty else { return report }
        try await Offload.run {
            if deletesFiles { try discardParts(in: engine) }
            try engine.index.forgetManifest(named: name)
            ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
        }
        return report
    }

    /// Sorts the manifest's files: left, shared, removed or changed. Throws `MirrorError` with `usage`
    /// for an unknown name.
    private func look(
        at view: TreeView, isDryRun: Bool
    ) throws -> (report: ForgetReport, removals: [CachedFile]) {
        var report = ForgetReport(root: root, name: name, isDryRun: isDryRun)
        var removals: [CachedFile] = []
        var owners = Set(try ManifestMemory.all(in: view).map(\.record.name))
        if let index = view.index, let folder = view.root {
            var scan = StatCursor(folder)
            var cursor = try index.projectionCursor(from: "")
            while try cursor.next(), let row = cursor.row {
                let known = Owners(text: String(decoding: row.owner, as: UTF8.self))
                owners.formUnion(known.names)
                guard known.contains(name) else { continue }
                guard !known.isShared else {
                    report.shared += 1
                    continue
                }
                let target = try cursor.rowTarget()
                guard case .file(let stamp, _) = try scan.look(at: target) else { continue }
                if !deletesFiles {
                    report.left.append(target)
                } else if stamp == row.stamp || hasBytes(of: row, target, stamp, in: folder) {
                    report.removed.append((target, stamp.size))
                    removals.append(
                        CachedFile(
                            target: target, stamp: stamp, lastUsed: Instant(milliseconds: 0),
                            state: .idle))
                } else {
                    report.changed.append(target)
                }
            }
        }
        guard owners.contains(Owners(name).text) || owners.contains(name) else {
            throw unknown(among: owners)
        }
        return (report, removals)
    }

    private func hasBytes(
        of row: RowProjection, _ target: Target, _ stamp: FileStamp, in root: RootDirectory
    ) -> Bool {
        guard stamp.size == row.stamp.size else { return false }
        let read = try? FileDigests.read(target, in: root)
        return read?.digests.first?.bytes.elementsEqual(row.sha256) == true
    }

    private func unknown(among owners: Set<String>) -> MirrorError {
        let nearest = NearestName.suggestion(for: name, among: owners.sorted())
        let advice =
            nearest.map { "Did you mean \($0)?" } ?? "mirror manifests lists those that it knows."
        return MirrorError(
            .usage, "\(Quoted(name)): this root remembers no manifest of this name. \(advice)")
    }

    /// Removes unfinished downloads of the targets that a manifest names.
    private func discardParts(in engine: Engine) throws {
        let view = TreeView(root: engine.root, index: engine.index)
        let memory = try ManifestMemory.all(in: view).first { $0.record.name == name }
        let parts = try engine.index.allParts()
        guard !parts.isEmpty, let manifest = memory?.known() else { return }
        let wanted = try Wanted([manifest], options: PlanOptions(), index: engine.index)
        for part in parts where wanted.wants(part.target) {
            // A leftover part only takes up disk space.
            try? engine.parts.discard(part: part.name)
        }
    }
}
