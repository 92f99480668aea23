public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
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
        let policy = EvictionPolicy(quota: quota)
        let (leases, meter) = (leases, ActivityMeter.current)
        let look = try await reading { view -> EvictionReport? in
            guard let root = view.root, let index = view.index else {
                return EvictionReport(
                    root: self.root, isDryRun: isDryRun, eviction: policy.eviction(of: []))
            }
            let scan = CacheScan(root: root, index: index, leases: leases, meter: meter)
            return isDryRun ? try await chosen(by: policy, scan, limit) : nil
        }
        if let look { return look }
        return try await withEngine(waitingSeconds: wait) { engine in
            let scan = CacheScan(
                root: engine.root, index: engine.index, leases: leases, meter: meter)
            var report = try await chosen(by: policy, scan, limit)
            report.isDryRun = false
            // Removals are submitted in groups, because those that wait for the disk take memory.
            let chosen = report.eviction.evicted
            var failed: [(file: CachedFile, error: MirrorError)] = []
            meter?.begin(.removing, total: chosen.count)
            defer { meter?.end() }
            for start in stride(from: 0, to: chosen.count, by: MirrorSession.removalsAtOnce) {
                let end = min(start + MirrorSession.removalsAtOnce, chosen.count)
                failed += await remove(Array(chosen[start..<end]), engine)
                meter?.add(files: end - start)
            }
            report.fail(failed)
            let left = Set(failed.map(\.file.target))
            try engine.index.changes.note(
                evicted: chosen.lazy.filter { !left.contains($0.target) }.map {
                    EvictedFile(target: $0.target, size: $0.stamp.size, lastUse: $0.lastUsed)
                }, readmitted: [])
            return report
        }
    }

    static let removalsAtOnce = 8192

    private func chosen(
        by policy: EvictionPolicy, _ scan: CacheScan, _ limit: DeleteLimit
    ) async throws -> EvictionReport {
        let eviction = try await Offload.run { policy.eviction(of: try scan.files()) }
        let (count, held) = (eviction.evicted.count, eviction.files)
        guard limit.allows(removals: count, owned: held, resources: held) else {
            throw MirrorError(
                .deleteLimit,
                "\(root): \(count) of \(Counted(held, "file")) in Caches would be removed, which is more than the limit allows. Nothing was changed.",
                remedy: Remedy(.allowRemovals, "\(count)")
            )
        }
        return EvictionReport(root: root, isDryRun: true, eviction: eviction)
    }

    /// Removes files durably; returns those that are still there.
    func remove(
        _ files: [CachedFile], _ engine: Engine
    ) async -> [(file: CachedFile, error: MirrorError)] {
        engine.index.rows.change()
        defer { engine.index.rows.change() }
        return await withCheckedContinuation { continuation in
            let eviction = Eviction(files, leases: leases, continuation)
            engine.promoter.submit(eviction.begin())
            engine.promoter.hurry()
        }
    }
}
