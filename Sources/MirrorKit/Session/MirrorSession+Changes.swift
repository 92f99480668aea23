public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// Changes of the tree, of the index and of a manifest's file that no run makes.
extension MirrorSession {
    /// Ends a conflict: the file that had to make room gets its place back, or is removed.
    ///
    /// A file that gets its place back counts as edited: mirror keeps it as long as the manifest
    /// wants the version that is at the target now.
    ///
    /// - Parameters:
    ///   - name: the target, or one of its conflict copies if there are several.
    ///   - side: which file stays; `mine` is the one that had to make room.
    ///   - wait: seconds to wait for another run's end.
    /// - Throws: `MirrorError` with `usage` if there is no such conflict, or with `conflict`,
    ///   `locked`, `inputOutput`.
    public func resolve(
        _ name: Target, keeping side: ConflictSide, waitingSeconds wait: Int64 = 0
    ) async throws -> ResolveReport {
        let root = root
        return try await engine.using(waitingSeconds: wait) { engine in
            try await Offload.run {
                try ConflictResolution(engine: engine).resolve(name, keeping: side, root: root)
            }
        }
    }

    /// Removes files of Caches, the least recently used first, until the rest fits a quota.
    ///
    /// Removes only files that mirror wrote, that are unchanged, and that nobody reads with
    /// `withFile`. A later sync fetches the wanted ones again. A dry run removes nothing and takes
    /// no lock.
    ///
    /// - Parameters:
    ///   - quota: bytes that mirror's files in Caches may take up.
    ///   - limit: how many files may be removed; if more would be, none is.
    ///   - wait: seconds to wait for another run's end.
    /// - Throws: `MirrorError` with `deleteLimit`, `locked`, `inputOutput` and the like.
    public func evict(
        toQuota quota: Int64, limit: DeleteLimit = .whenOmitted, isDryRun: Bool = false,
        waitingSeconds wait: Int64 = 0
    ) async throws -> EvictionReport {
        let eviction = CacheEviction(
            root: root, policy: EvictionPolicy(quota: quota), limit: limit, leases: leases,
            meter: ActivityMeter.current)
        let preview = try await engine.reading { view -> EvictionReport? in
            isDryRun || !view.isThere ? try await eviction.preview(view) : nil
        }
        if var preview {
            preview.isDryRun = isDryRun
            return preview
        }
        return try await engine.using(waitingSeconds: wait) { engine in
            try await eviction.carryOut(in: engine)
        }
    }

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
        let forgetting = Forgetting(root: root, name: name, deletesFiles: deleting)
        if isDryRun { return try await engine.look { view in try forgetting.preview(view) } }
        return try await engine.using(waitingSeconds: wait) { engine in
            try await forgetting.carryOut(in: engine, leases)
        }
    }

    /// Writes sizes and sha256 digests of fetched files into a manifest's file.
    ///
    /// Every selected resource that the index knows is read. If the declarations of one contradict
    /// its file, the manifest's file stays as it is, and the report names the resource. The
    /// manifest's text keeps its order, its form and its notes: the new values are put beside each
    /// `url`. The file is replaced atomically.
    ///
    /// - Parameters:
    ///   - path: the manifest's file.
    ///   - options: `only` and `skip` select resources by their tags.
    ///   - updates: whether other sizes and digests that the manifest declares give way to those of the
    ///     files that mirror put there last.
    ///   - isDryRun: whether nothing is written.
    /// - Throws: `ManifestRefusal`, or `MirrorError` with `manifestUnreadable`, `inputOutput`,
    ///   `cancelled` and the like.
    public func pin(
        _ path: String, options: PlanOptions = PlanOptions(), updates: Bool = false,
        isDryRun: Bool = false
    ) async throws -> PinReport {
        let (root, meter) = (root, ActivityMeter.current)
        return try await engine.scan { view, isCancelled in
            try PinScan(view: view, updates: updates, meter: meter, isCancelled: isCancelled)
                .pin(path, options: options, isDryRun: isDryRun, root: root)
        }
    }
}
