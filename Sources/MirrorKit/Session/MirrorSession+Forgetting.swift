public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
    /// Forgets a manifest: its place, its copy, and its ownership of files.
    ///
    /// Its files stay, and it does not own them any more. With `deleting`, those that are as mirror
    /// put them there, and that no other manifest owns, are removed first. A dry run changes
    /// nothing and takes no lock. Throws `MirrorError` with `usage` for a name that the root does
    /// not know, with the obstacle's error while a promotion of its files cannot be finished, or
    /// with `locked`, `inputOutput` and the like.
    public func forget(
        _ name: String, deleting: Bool = false, isDryRun: Bool = false,
        waitingSeconds wait: Int64 = 0
    ) async throws -> ForgetReport {
        let root = root
        if isDryRun {
            return try await reading { view in
                try await Offload.run {
                    var scan = try ForgetScan(name, view: view, deletes: deleting)
                    return try scan.look(root: root, isDryRun: true).report
                }
            }
        }
        return try await withEngine(waitingSeconds: wait) { engine in
            // The journal of its files would bring them back, to nobody.
            let set = engine.unfinished.first { $0.owners.names.contains(name) }
            if let set { throw set.cause }
            let view = TreeView(root: engine.root, index: engine.index)
            var (report, removals) = try await Offload.run {
                var scan = try ForgetScan(name, view: view, deletes: deleting)
                return try scan.look(root: root, isDryRun: false)
            }
            var failed: Set<Target> = []
            for start in stride(from: 0, to: removals.count, by: MirrorSession.removalsAtOnce) {
                let end = min(start + MirrorSession.removalsAtOnce, removals.count)
                for failure in await remove(Array(removals[start..<end]), engine) {
                    failed.insert(failure.file.target)
                    report.failures.append(failure.error)
                }
            }
            report.removed.removeAll { failed.contains($0.target) }
            guard report.failures.isEmpty else { return report }
            try await Offload.run {
                if deleting { try ForgetScan.discardParts(of: name, in: engine) }
                try engine.index.changes.forgetManifest(named: name)
                do throws(Errno) { try engine.index.makeDurable() } catch {
                    throw MirrorError(error)
                }
                ManifestCopy.sweep(engine.root, keeping: try engine.index.manifests())
            }
            return report
        }
    }
}

/// Sorts the files of a manifest that is forgotten: left, shared, removed or changed.
struct ForgetScan {
    private let name: String
    private let view: TreeView
    private let deletes: Bool
    private let memories: [ManifestMemory]

    init(_ name: String, view: TreeView, deletes: Bool) throws {
        self.name = name
        self.view = view
        self.deletes = deletes
        memories = try ManifestMemory.all(in: view)
    }

    /// Looks at every file of the manifest. Throws `MirrorError` with `usage` for an unknown name.
    mutating func look(
        root: String, isDryRun: Bool
    ) throws -> (report: ForgetReport, removals: [CachedFile]) {
        var report = ForgetReport(root: root, name: name, isDryRun: isDryRun)
        var removals: [CachedFile] = []
        var owners: Set<String> = Set(memories.map(\.record.name))
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
                if !deletes {
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
    static func discardParts(of name: String, in engine: Engine) throws {
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
