internal import Synchronization

/// Evicts files from Caches: removes the least recently used ones until the rest fits a quota.
///
/// The eviction removes only unchanged files that mirror wrote and that no `withFile` reads. A
/// later sync fetches the wanted ones again.
package struct CacheEviction: Sendable {
    private let quota: Int64
    private let limit: DeleteLimit

    /// Makes an eviction.
    ///
    /// - Parameters:
    ///   - quota: bytes that mirror's files in Caches may take up.
    ///   - limit: how many files may be removed. If the eviction would remove more, it removes
    ///   none.
    package init(toQuota quota: Int64, limit: DeleteLimit = .whenOmitted) {
        (self.quota, self.limit) = (quota, limit)
    }

    /// Reports what the eviction would remove. The call changes nothing and takes no lock.
    ///
    /// Throws `MirrorError` with `deleteLimit`, `inputOutput` and the like.
    package func preview(in session: MirrorSession) async throws -> EvictionReport {
        try await session.engine.reading { view in try await preview(view, session) }
    }

    /// Removes the files, and notes in the index that they were left out for lack of space.
    ///
    /// The index remembers the eviction as a run, and the run's log has each file.
    ///
    /// - Parameters:
    ///   - session: a session of the root.
    ///   - wait: seconds to wait for another run's end.
    /// - Throws: `MirrorError` with `deleteLimit`, `locked`, `inputOutput` and the like.
    package func carryOut(
        in session: MirrorSession, waitingSeconds wait: Int64 = 0
    ) async throws -> EvictionReport {
        // If no sync has made a tree yet, there is nothing to lock or to remove.
        let report = try await session.engine.reading { view in
            view.isThere ? nil : try await preview(view, session)
        }
        if var report {
            report.isDryRun = false
            return report
        }
        return try await session.engine.using(waitingSeconds: wait) { engine in
            try await carryOut(in: engine, session)
        }
    }

    private func preview(
        _ view: TreeView, _ session: MirrorSession
    ) async throws -> EvictionReport {
        guard let root = view.root, let index = view.index else {
            return EvictionReport(root: session.root, isDryRun: true, quota: quota, of: [])
        }
        return try await choose(root, index, session)
    }

    private func carryOut(
        in engine: Engine, _ session: MirrorSession
    ) async throws -> EvictionReport {
        var report = try await choose(engine.root, engine.index, session)
        report.isDryRun = false
        let chosen = report.evicted
        if chosen.isEmpty { return report }
        let run = RunRecord(id: Event.runIdentifier(), startedAt: SystemClock.now())
        // A full disk may have no room for the history, and the eviction makes room.
        try? engine.index.put(run)
        let meter = ActivityMeter.current
        meter?.begin(.removing, total: chosen.count)
        defer { meter?.end() }
        let failed = await RemovalBatch.remove(chosen, from: engine, meter)
        report.fail(failed)
        let left = Set(failed.map(\.file.target))
        try engine.index.note(
            evicted: chosen.lazy.filter { !left.contains($0.target) }.map {
                EvictedFile(target: $0.target, size: $0.stamp.size, lastUse: $0.lastUsed)
            }, readmitted: [])
        try await Offload.run { [report] in remember(run, report, failed, in: engine) }
        return report
    }

    /// Writes the end of an eviction into its row, and each of its files into its log.
    private func remember(
        _ run: RunRecord, _ report: EvictionReport, _ failed: [RemovalBatch.Failure],
        in engine: Engine
    ) {
        var log = DecisionLog(of: run.id, nil, in: engine.root)
        for file in report.evicted {
            let size = file.stamp.size
            let step = Step(
                target: file.target, manifest: 0, resource: nil, kind: .evicted,
                reason: .overQuota(of: quota, size: size), means: .removal, existing: .nothing,
                size: size)
            log.note(.done(Event.Done(evicted: step)), at: 0)
        }
        for (file, error) in failed {
            let failure = Event.Failed(
                target: file.target, step: .evicted, error: error, isOptional: false, manifest: "",
                line: 0)
            log.note(.failed(failure), at: 0)
        }
        log.close()
        let now = SystemClock.now()
        var summary = Summary()
        (summary.root, summary.resources) = (report.root, report.evicted.count + failed.count)
        (summary[.evicted], summary[.failed]) = (report.evicted.count, failed.count)
        summary.exit = report.isEnough && failed.isEmpty ? 0 : 1
        summary.seconds = Double(now.milliseconds - run.startedAt.milliseconds) / 1000
        var run = run
        (run.endedAt, run.exit, run.summary) = (now, summary.exit, summary.json)
        try? engine.index.put(run)
    }

    private func choose(
        _ root: RootDirectory, _ index: Index, _ session: MirrorSession
    ) async throws -> EvictionReport {
        try Configuration.check("quota", quota, Configuration.natural)
        try limit.validate()
        let meter = ActivityMeter.current
        let report = try await Offload.run {
            var files = CachedFileList()
            try index.forEachCachedFile(in: .caches, of: root, meter) { file, _ in
                files.append(file)
            }
            return EvictionReport(root: session.root, isDryRun: true, quota: quota, of: files)
        }
        let (count, held) = (report.evicted.count, report.files)
        guard limit.allows(removals: count, owned: held, resources: held) else {
            throw MirrorError(
                .deleteLimit,
                "\(session.root): \(count) of \(Counted(held, "file")) in Caches would be removed, which is more than the limit allows. Nothing was changed.",
                remedy: Remedy(.allowRemovals, "\(count)")
            )
        }
        return report
    }
}

/// Removes a batch of files without a run. A file that has a reader fails at once.
final class RemovalBatch: PromotionReceiver {
    typealias Failure = (file: CachedFile, error: MirrorError)

    private let files: [CachedFile]
    private let locks: TargetLocks
    private let end: CheckedContinuation<[Failure], Never>
    private let tally: Mutex<(waiting: Int, failures: [Failure])>

    private init(
        _ files: [CachedFile], locks: TargetLocks, _ end: CheckedContinuation<[Failure], Never>
    ) {
        self.files = files
        self.locks = locks
        self.end = end
        tally = Mutex((files.count, []))
    }

    /// Takes the files without a reader and returns the works that remove them.
    ///
    /// A file with a reader fails here.
    private func begin() -> [PromotionWork] {
        var works: [PromotionWork] = []
        for (number, file) in files.enumerated() {
            if locks.lockIfFree(file.target) {
                let removal = Removal(target: file.target, stamp: file.stamp)
                works.append(
                    PromotionWork(task: .remove(removal), number: number, receiver: self))
            } else {
                settle(file, .inUse(file.target))
            }
        }
        return works
    }

    func promoted(_ works: [PromotionWork], _ results: [RunInput]) {
        for case .removed(let number, let error) in results {
            locks.unlock([files[number].target])
            settle(files[number], error)
        }
    }

    private func settle(_ file: CachedFile, _ error: MirrorError?) {
        let failures = tally.withLock { tally -> [Failure]? in
            tally.waiting -= 1
            if let error { tally.failures.append((file, error)) }
            return tally.waiting == 0 ? tally.failures : nil
        }
        if let failures { end.resume(returning: failures) }
    }
}

extension RemovalBatch {
    /// The most files in one batch, because removals that wait for the disk take memory.
    private static let mostTogether = 8192

    /// Removes files durably. Returns the files that still exist, with the errors.
    static func remove<Files: RandomAccessCollection & Sendable>(
        _ files: Files, from engine: Engine, _ meter: ActivityMeter? = nil
    ) async -> [Failure] where Files.Element == CachedFile, Files.Index == Int {
        var failures: [Failure] = []
        for start in stride(from: files.startIndex, to: files.endIndex, by: mostTogether) {
            let end = min(start + mostTogether, files.endIndex)
            failures += await remove(together: Array(files[start..<end]), from: engine)
            meter?.add(files: end - start)
        }
        return failures
    }

    private static func remove(
        together files: [CachedFile], from engine: Engine
    ) async -> [Failure] {
        engine.index.rows.change()
        defer { engine.index.rows.change() }
        return await withCheckedContinuation { continuation in
            let batch = RemovalBatch(files, locks: engine.locks, continuation)
            engine.promoter.submit(batch.begin())
            engine.promoter.hurry()
        }
    }
}

extension MirrorError {
    /// The error for a file that was kept because a reader has it.
    static func inUse(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict, "\(target): it is being read, so it was kept. Run again later.",
            target: target)
    }
}
