internal import MirrorModel
internal import MirrorStore
internal import Synchronization

/// Removals of files without a run, a batch at a time; those of files that are being read fail at once.
final class RemovalBatch: PromotionReceiver {
    typealias Failure = (file: CachedFile, error: MirrorError)

    private let files: [CachedFile]
    private let leases: FileLeases
    private let end: CheckedContinuation<[Failure], Never>
    private let tally: Mutex<(waiting: Int, failures: [Failure])>

    private init(
        _ files: [CachedFile], leases: FileLeases, _ end: CheckedContinuation<[Failure], Never>
    ) {
        self.files = files
        self.leases = leases
        self.end = end
        tally = Mutex((files.count, []))
    }

    /// Takes the files that have no reader, and returns the works that remove them; files with a
    /// reader fail here.
    private func begin() -> [PromotionWork] {
        var works: [PromotionWork] = []
        for (number, file) in files.enumerated() {
            if leases.acquireExclusiveIfFree(file.target) {
                let removal = Removal(target: file.target, stamp: file.stamp)
                works.append(
                    PromotionWork(task: .remove(removal), number: number, receiver: self))
            } else {
                settle(file, .inUse(file.target))
            }
        }
        return works
    }

    func promoted(_ ends: [PromotionEnd]) {
        for end in ends {
            guard case .removed(let error) = end.result else { continue }
            leases.releaseExclusive(files[end.number].target)
            settle(files[end.number], error)
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
    /// Removals are submitted in batches, because those that wait for the disk take memory.
    private static let mostTogether = 8192

    /// Removes files durably; returns those that are still there.
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
            let batch = RemovalBatch(files, leases: engine.leases, continuation)
            engine.promoter.submit(batch.begin())
            engine.promoter.hurry()
        }
    }
}

extension MirrorError {
    /// The error for a file that is kept because it is being read.
    static func inUse(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict, "\(target): it is being read, so it was kept. Run again later.",
            target: target)
    }
}
