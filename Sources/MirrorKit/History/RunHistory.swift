/// What earlier runs of a root did, and why: their rows in the index, and their logs.
package struct RunHistory: Sendable {
    /// The number of runs whose decisions about each target are kept.
    static let remembersDecisionsOf = RunLog.mostRuns

    private let engine: SharedEngine

    init(_ engine: SharedEngine) { self.engine = engine }

    /// The last runs that had something to do, the newest first.
    ///
    /// Throws `MirrorError` with `inputOutput` or `indexNewer`.
    package func runs(limit: Int = remembersDecisionsOf) async throws -> [PastRun] {
        try await engine.look { view in
            try view.index?.runs().suffix(max(limit, 0)).reversed().map(PastRun.init) ?? []
        }
    }

    /// What the last runs decided about a target, the newest first.
    ///
    /// A run decides nothing about a target if it keeps the file as it is, or ends before the
    /// target's step. Throws `MirrorError` with `inputOutput` or `indexNewer`.
    package func decisions(
        about target: Target
    ) async throws -> [(run: PastRun, decision: PastDecision)] {
        try await engine.look { view in
            guard let root = view.root, let index = view.index else { return [] }
            let runs = try index.runs().suffix(RunLog.mostRuns)
            var path = JSONWriter()
            path.string(target.path)
            let start = Array("{\"path\":".utf8) + path.bytes + Array(",".utf8)
            return runs.reversed().compactMap { record in
                var last: PastDecision?
                RunLog.forEachLine(of: record.id, in: root) { line in
                    guard line.starts(with: start) else { return }
                    last = PastDecision(line: Array(line)) ?? last
                }
                return last.map { (PastRun(record), $0) }
            }
        }
    }

    /// The files that the newest completed run failed to fetch, had no room for, or left stale.
    ///
    /// If that run was one shard's, the newest runs of the other shards count too. Their logs supply
    /// the names, as far as they have them. Throws `MirrorError` with `inputOutput` or `indexNewer`.
    ///
    /// - Parameter runs: the last runs, the newest first.
    package func troubles(of runs: [PastRun]) async throws -> [Target: Outcome] {
        let troubled = runs.newestEnded.filter { run in
            RunHistory.troubling.contains { run.summary?[$0] ?? 0 > 0 }
        }
        if troubled.isEmpty { return [:] }
        let marks = RunHistory.troubling.map { Array("\"outcome\":\"\($0.rawValue)\"".utf8) }
        return try await engine.look { view in
            var troubles: [Target: Outcome] = [:]
            guard let root = view.root else { return troubles }
            let read = { (line: ArraySlice<UInt8>) in
                // Most lines of a long log are about files that arrived, so they are not parsed.
                guard marks.contains(where: line.holds),
                    let decision = PastDecision(line: Array(line))
                else { return }
                troubles[decision.target] = decision.outcome
            }
            for run in troubled { RunLog.forEachLine(of: run.id, in: root, read) }
            return troubles
        }
    }

    private static let troubling = [Outcome.failed, .noRoom, .stale]
}

// MARK: All decisions of the last runs

extension RunHistory {
    /// Passes the decisions of these runs to the body, in the order of the runs.
    ///
    /// Reads at most about `bytes` of their logs. Throws `MirrorError` with `inputOutput` or
    /// `indexNewer`.
    package func forEachDecision(
        of runs: [PastRun], atMost bytes: Int64,
        _ body: @escaping @Sendable (PastRun, PastDecision) -> Void
    ) async throws {
        try await engine.look { view in
            guard let root = view.root else { return }
            var left = bytes
            for run in runs where left > 0 {
                left -= RunLog.forEachLine(of: run.id, in: root) { line in
                    if let decision = PastDecision(line: Array(line)) { body(run, decision) }
                }
            }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether the slice contains these bytes as a run of neighbours.
    fileprivate func holds(_ bytes: [UInt8]) -> Bool {
        withUnsafeBufferPointer { line in
            guard let first = bytes.first, line.count >= bytes.count else { return false }
            return (0...(line.count - bytes.count)).contains { start in
                line[start] == first && line[start...].starts(with: bytes)
            }
        }
    }
}

// Reads past runs from the index and from their logs. Another version of mirror may have written
// them: unknown members are ignored, and missing ones get defaults.

extension PastRun {
    /// Reads a run from its row in the index.
    init(_ record: RunRecord) {
        self.init(id: record.id, startedAt: record.startedAt, endedAt: record.endedAt)
        summary = record.summary.flatMap {
            (try? JSONTree(Array($0.utf8), file: record.id)).map(Summary.init)
        }
    }
}

extension Summary {
    /// Reads a summary from its JSON.
    fileprivate init(_ tree: JSONTree) {
        self.init()
        let number = { (key: String) in Int(tree[key]?.int ?? 0) }
        exit = Int32(truncatingIfNeeded: tree["exit"]?.int ?? 0)
        error = tree["error"].flatMap(MirrorError.init)
        root = tree["root"]?.string ?? ""
        shard = tree["shard"]?.string
        resources = number("resources")
        for outcome in Outcome.allCases { self[outcome] = number(outcome.summaryKey) }
        failedOptional = number("failedOptional")
        removed = number("removed")
        orphans = number("orphans")
        setsLeft = number("setsLeft")
        unverified = number("unverified")
        bytesReceived = tree["bytesReceived"]?.int ?? 0
        bytesReused = tree["bytesReused"]?.int ?? 0
        partBytes = tree["partBytes"]?.int ?? 0
        requests = number("requests")
        (pushed, unpushed) = (number("pushed"), number("unpushed"))
        seconds = tree["seconds"]?.double ?? 0
    }
}

extension PastDecision {
    /// Reads a decision from a line of a run's log. Returns nil if the line is no decision.
    init?(line: [UInt8]) {
        guard let tree = try? JSONTree(line, file: ""),
            let target = tree["path"]?.string.flatMap({ try? Target($0) }),
            let step = tree["step"]?.string.flatMap(Step.Kind.init)
        else { return nil }
        self.init(
            target: target, step: step, reason: tree["reason"]?.string ?? "",
            because: tree["because"]?.string ?? "")
        outcome = tree["outcome"]?.string.flatMap(Outcome.init)
        bytesReceived = tree["bytesReceived"]?.int ?? 0
        bytesReused = tree["bytesReused"]?.int ?? 0
        source = tree["source"]?.string
        verified = tree["verified"]?.string.flatMap(Verification.init)
        failures = (tree["retries"]?.elements ?? []).map {
            PassingFailure(
                code: FailureCode(rawValue: $0["cause"]?.string ?? ""),
                message: $0["message"]?.string ?? "",
                wait: Int64(($0["wait"]?.double ?? 0) * 1000),
                began: $0["began"]?.int.flatMap { $0 < 0 ? nil : $0 },
                status: $0["status"]?.int.map(Int.init))
        }
        error = tree["error"].flatMap(MirrorError.init)
        isOptional = tree["error"]?["optional"]?.bool ?? false
        trace = tree["transfer"].flatMap(TransferTrace.init)
    }
}

extension TransferTrace {
    /// Reads a trace from its JSON. Returns nil for null, and for times that no run has.
    fileprivate init?(_ tree: JSONTree) {
        guard let began = tree["began"]?.int, let ended = tree["ended"]?.int, began >= 0,
            ended >= began
        else { return nil }
        self.init(began: began, ended: ended)
        version = tree["http"]?.string.flatMap(HTTPVersion.init)
        ranges = tree["ranges"]?.string.flatMap(RangeSupport.init) ?? .unknown
    }
}

extension MirrorError {
    /// Reads an error from its JSON. Returns nil for null.
    fileprivate init?(_ tree: JSONTree) {
        guard let code = tree["code"]?.string else { return nil }
        self.init(FailureCode(rawValue: code), tree["message"]?.string ?? "")
        isRetryable = tree["retryable"]?.bool ?? false
        source = tree["source"]?.string
        status = tree["status"]?.int.map(Int.init)
        attempts = Int(tree["attempts"]?.int ?? 0)
        expected = tree["expected"]?.string
        actual = tree["actual"]?.string
        tried = (tree["tried"]?.elements ?? []).compactMap(\.string)
        remedy = tree["remedy"]?.string.map {
            Remedy(Remedy.Kind(rawValue: $0), tree["remedySubject"]?.string ?? "")
        }
    }
}
