import MirrorKit
import Synchronization

extension TreeReport {
    /// The most bytes of logs that a report reads; the newest run's log is read first.
    private static let mostLogBytes: Int64 = 64 << 20

    /// Makes a report of what is in the tree, where it came from, and what runs did.
    ///
    /// The report makes no request, and reads only files in doubt. It takes no lock, so a run can
    /// go on at the same time. Its memory does not grow with the number of files. Throws
    /// `MirrorError` with `inputOutput` or `indexNewer`.
    init(of session: MirrorSession, on manifests: [Manifest]) async throws {
        var empty = TreeReport(
            root: session.root, madeAt: .now, paused: try session.pausedTargets())
        empty.manifests = try await session.manifests.remembered()
        empty.runs = try await session.history.runs(limit: TreeReport.mostRuns)
        let troubles = try await session.history.troubles(of: empty.runs)
        let report = Mutex(empty)
        let last = Mutex<String?>(nil)
        try await session.history.forEachDecision(
            of: empty.runs, atMost: TreeReport.mostLogBytes
        ) { run, decision in
            let isFirst = last.withLock { last in
                defer { last = run.id }
                return last != run.id
            }
            report.withLock { report in
                if isFirst { report.begin(run) }
                report.add(decision, of: run)
            }
        }
        try await session.forEachFile(of: manifests) { file in
            report.withLock { $0.add(file, ended: troubles[file.target]) }
        }
        self = report.withLock { $0 }
    }
}
