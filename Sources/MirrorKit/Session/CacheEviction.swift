internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// Makes room in Caches: the files that were used least recently go, until the rest fits a quota.
struct CacheEviction: Sendable {
    let root: String
    let policy: EvictionPolicy
    let limit: DeleteLimit
    let leases: FileLeases
    let meter: ActivityMeter?

    /// What an eviction would remove; nothing changes.
    func preview(_ view: TreeView) async throws -> EvictionReport {
        guard let root = view.root, let index = view.index else {
            return EvictionReport(
                root: self.root, isDryRun: true, eviction: policy.eviction(of: []))
        }
        return try await choose(root, index)
    }

    /// Removes the files, and notes in the index that they were left out for lack of room.
    func carryOut(in engine: Engine) async throws -> EvictionReport {
        var report = try await choose(engine.root, engine.index)
        report.isDryRun = false
        let chosen = report.eviction.evicted
        meter?.begin(.removing, total: chosen.count)
        defer { meter?.end() }
        let failed = await RemovalBatch.remove(chosen, from: engine, leases, meter)
        report.fail(failed)
        let left = Set(failed.map(\.file.target))
        try engine.index.changes.note(
            evicted: chosen.lazy.filter { !left.contains($0.target) }.map {
                EvictedFile(target: $0.target, size: $0.stamp.size, lastUse: $0.lastUsed)
            }, readmitted: [])
        return report
    }

    private func choose(_ root: RootDirectory, _ index: Index) async throws -> EvictionReport {
        let scan = CacheScan(root: root, index: index, leases: leases, meter: meter)
        let eviction = try await Offload.run { policy.eviction(of: try scan.files()) }
        let (count, held) = (eviction.evicted.count, eviction.files)
        guard limit.allows(removals: count, owned: held, resources: held) else {
            throw MirrorError(
                .deleteLimit,
                "\(self.root): \(count) of \(Counted(held, "file")) in Caches would be removed, which is more than the limit allows. Nothing was changed.",
                remedy: Remedy(.allowRemovals, "\(count)")
            )
        }
        return EvictionReport(root: self.root, isDryRun: true, eviction: eviction)
    }
}
