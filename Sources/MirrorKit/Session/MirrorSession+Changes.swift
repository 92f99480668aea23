public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// Changes of the tree and of the index that no run makes.
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
}
