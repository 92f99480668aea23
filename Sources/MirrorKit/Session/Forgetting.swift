// MARK: Forgetting

extension ManifestRegister {
    /// Forgets a manifest: its place, its copy, and its ownership of files.
    ///
    /// The manifest's files stay in the tree without it as their owner. With `deleting`, files that
    /// only this manifest owns are removed first, if they are as mirror put them there. A dry run
    /// changes nothing and takes no lock.
    ///
    /// Throws `MirrorError` with `usage` for a name that the root does not know. If a promotion of
    /// the manifest's files cannot be finished, the call throws the cause. Throws `locked`,
    /// `inputOutput` and the like as other changes do.
    ///
    /// - Parameter wait: seconds to wait for another run's end.
    package func forget(
        _ name: String, deleting: Bool = false, isDryRun: Bool = false,
        waitingSeconds wait: Int64 = 0
    ) async throws -> ForgetReport {
        if isDryRun {
            return try await engine.look { view in
                try self.sortFiles(of: name, deletes: deleting, in: view, isDryRun: true).report
            }
        }
        try await engine.requireSoundIndex()
        return try await engine.using(waitingSeconds: wait) { engine in
            // The recovery would finish the promotion of these files later, and their owner would
            // be gone.
            let set = engine.unfinished.first { $0.owners.names.contains(name) }
            if let set { throw set.cause }
            let view = TreeView(root: engine.root, index: engine.index)
            var (report, removals) = try await Offload.run {
                try self.sortFiles(of: name, deletes: deleting, in: view, isDryRun: false)
            }
            let failures = await RemovalBatch.remove(removals, from: engine)
            let failed = Set(failures.map(\.file.target))
            report.failures += failures.map(\.error)
            report.removed.removeAll { failed.contains($0.target) }
            guard report.failures.isEmpty else { return report }
            try await Offload.run {
                if deleting { try ManifestRegister.discardParts(of: name, in: engine) }
                try engine.index.forgetManifest(named: name)
                ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
            }
            return report
        }
    }

    /// Sorts the manifest's files into left, shared, removed and changed ones.
    ///
    /// Throws `MirrorError` with `usage` for a name that the root does not know.
    private func sortFiles(
        of name: String, deletes: Bool, in view: TreeView, isDryRun: Bool
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
                guard case .file(let stamp) = try scan.look(at: target) else { continue }
                if !deletes {
                    report.left.append(target)
                } else if stamp == row.stamp || row.hasBytes(of: target, stamp, in: folder) {
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
            throw ManifestRegister.unknown(name, among: owners)
        }
        return (report, removals)
    }

    private static func unknown(_ name: String, among owners: Set<String>) -> MirrorError {
        let nearest = NearestName.suggestion(for: name, among: owners.sorted())
        let advice =
            nearest.map { "Did you mean \($0)?" } ?? "mirror manifests lists those that it knows."
        return MirrorError(
            .usage, "\(Quoted(name)): this root remembers no manifest of this name. \(advice)")
    }

    /// Removes the parts of the targets that a manifest names.
    private static func discardParts(of name: String, in engine: Engine) throws {
        let view = TreeView(root: engine.root, index: engine.index)
        let memory = try ManifestMemory.all(in: view).first { $0.record.name == name }
        let parts = try engine.index.allParts()
        guard !parts.isEmpty, let manifest = memory?.known() else { return }
        let wanted = try Wanted(
            [manifest], options: PlanOptions(), of: view.shard, index: engine.index)
        for part in parts where wanted.wants(part.target) {
            // A part that stays only takes up disk space.
            try? engine.parts.discard(part: part.name)
        }
    }
}
