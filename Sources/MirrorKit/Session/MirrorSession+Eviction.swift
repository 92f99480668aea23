public import MirrorModel
internal import Synchronization

extension MirrorSession {
    /// Removes files of Caches, the least recently used first, until the rest fits a quota.
    ///
    /// Only what mirror put there goes, unchanged since and not read under `withFile`; a later sync
    /// fetches what is wanted again. A dry run removes nothing and takes no lock.
    ///
    /// - Parameters:
    ///   - quota: bytes that mirror's files in Caches may take up.
    ///   - limit: how many files may go; beyond it nothing does.
    ///   - wait: seconds to wait for another run's end.
    /// - Throws: `MirrorError` with `deleteLimit`, `locked`, `inputOutput` and the like.
    public func evict(
        toQuota quota: Int64, limit: DeleteLimit = .whenOmitted, isDryRun: Bool = false,
        waitingSeconds wait: Int64 = 0
    ) async throws -> EvictionReport {
        let policy = EvictionPolicy(quota: quota)
        let leases = leases
        let look = try await reading { view -> EvictionReport? in
            guard let root = view.root, let index = view.index else {
                return EvictionReport(
                    root: self.root, isDryRun: isDryRun, eviction: policy.eviction(of: []))
            }
            let survey = CacheSurvey(root: root, index: index, leases: leases)
            return isDryRun ? try await chosen(by: policy, survey, limit) : nil
        }
        if let look { return look }
        return try await withEngine(waitingSeconds: wait) { engine in
            let survey = CacheSurvey(root: engine.root, index: engine.index, leases: leases)
            var report = try await chosen(by: policy, survey, limit)
            report.isDryRun = false
            // Some at a time: what waits for the disk takes memory.
            let chosen = report.eviction.evicted
            var failed: [(file: CachedFile, error: MirrorError)] = []
            for start in stride(from: 0, to: chosen.count, by: MirrorSession.removalsAtOnce) {
                let end = min(start + MirrorSession.removalsAtOnce, chosen.count)
                failed += await remove(Array(chosen[start..<end]), engine)
            }
            report.fail(failed)
            return report
        }
    }

    static let removalsAtOnce = 8192

    private func chosen(
        by policy: EvictionPolicy, _ survey: CacheSurvey, _ limit: DeleteLimit
    ) async throws -> EvictionReport {
        let eviction = try await Offload.run { policy.eviction(of: try survey.files()) }
        let (count, held) = (eviction.evicted.count, eviction.files)
        guard limit.allows(removals: count, owned: held, resources: held) else {
            throw MirrorError(
                .deleteLimit,
                "\(root): \(count) of \(Counted(held, "file")) in Caches would be removed, which is more than --max-delete allows. Nothing was changed. If that is meant, pass --max-delete \(count)."
            )
        }
        return EvictionReport(root: root, isDryRun: true, eviction: eviction)
    }

    /// Removes files durably; gives those that are still there.
    func remove(
        _ files: [CachedFile], _ engine: Engine
    ) async -> [(file: CachedFile, error: MirrorError)] {
        let leases = leases
        let tally = Mutex(
            (waiting: files.count, failures: [(file: CachedFile, error: MirrorError)]()))
        return await withCheckedContinuation { continuation in
            let settle: @Sendable (CachedFile, MirrorError?) -> Void = { file, error in
                let end = tally.withLock { tally in
                    tally.waiting -= 1
                    if let error { tally.failures.append((file, error)) }
                    return tally.waiting == 0 ? tally.failures : nil
                }
                if let end { continuation.resume(returning: end) }
            }
            for file in files {
                let isFree = leases.landIfFree(file.target)
                guard isFree else {
                    settle(file, .inUse(file.target))
                    continue
                }
                let removal = Removal(target: file.target, stamp: file.stamp)
                engine.promoter.submit(removal) { error in
                    leases.landed(file.target)
                    settle(file, error)
                }
            }
            engine.promoter.hurry()
        }
    }
}

extension MirrorError {
    /// A file that is being read is kept.
    static func inUse(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict, "\(target): it is being read, so it was kept. Run again later.",
            target: target)
    }
}
