internal import MirrorModel
internal import MirrorStore

/// What earlier runs of a root did, and why: their rows in the index, and their logs.
///
/// Its functions block the calling thread.
struct RunHistory {
    private let root: RootDirectory?
    private let index: Index?

    init(_ view: TreeView) { (root, index) = (view.root, view.index) }

    /// The last runs that had something to do, the newest first.
    func runs(limit: Int) throws -> [PastRun] {
        try index?.runs().suffix(max(limit, 0)).reversed().map(PastRun.init) ?? []
    }

    /// What the last runs decided about a target, the newest first.
    func decisions(about target: Target) throws -> [(run: PastRun, decision: PastDecision)] {
        guard let root, let index else { return [] }
        let runs = try index.runs().suffix(RunLog.mostRuns)
        return runs.reversed().compactMap { record in
            var reader = DecisionLineReader(about: target)
            var last: PastDecision?
            RunLog.forEachLine(of: record.id, in: root) { line in
                if let decision = reader.decision(in: line) { last = decision }
            }
            return last.map { (PastRun(record), $0) }
        }
    }

    /// The files that the newest run with an end failed to bring up to date, or left stale, as far
    /// as its log names them.
    ///
    /// - Parameter run: that run.
    func troubles(of run: PastRun) -> [Target: Outcome] {
        var troubles: [Target: Outcome] = [:]
        guard let root else { return troubles }
        let marks = RunHistory.troubling.map { Array("\"outcome\":\"\($0.rawValue)\"".utf8) }
        RunLog.forEachLine(of: run.id, in: root) { line in
            // Most lines of a long log are about files that arrived.
            guard marks.contains(where: line.holds), let decision = PastDecision(line: Array(line))
            else { return }
            troubles[decision.target] = decision.outcome
        }
        return troubles
    }

    private static let troubling = [Outcome.failed, .stale]

    /// The newest of these runs that has an end, if files of it are not as they should be.
    static func troubled(among runs: [PastRun]) -> PastRun? {
        guard let run = runs.first(where: { $0.summary != nil }),
            troubling.contains(where: { run.summary?[$0] ?? 0 > 0 })
        else { return nil }
        return run
    }
}

// MARK: A report's runs

extension RunHistory {
    /// Bytes of logs that a report reads, the newest run's first.
    private static let mostReported: Int64 = 64 << 20

    /// Adds the last runs to a report, with what they decided.
    func add(to report: inout TreeReport) throws {
        guard let root, let index else { return }
        let records = try index.runs().suffix(TreeReport.mostRuns).reversed()
        report.runs = records.map(PastRun.init)
        var left = RunHistory.mostReported
        for run in report.runs where left > 0 {
            var hasBegun = false
            var reader = DecisionLineReader()
            left -= RunLog.forEachLine(of: run.id, in: root) { line in
                guard let decision = reader.decision(in: line) else { return }
                if !hasBegun { report.begin(run) }
                hasBegun = true
                report.add(decision, of: run)
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether these bytes are somewhere among them.
    fileprivate func holds(_ bytes: [UInt8]) -> Bool {
        withUnsafeBufferPointer { line in
            guard let first = bytes.first, line.count >= bytes.count else { return false }
            return (0...(line.count - bytes.count)).contains { start in
                line[start] == first && line[start...].starts(with: bytes)
            }
        }
    }
}
