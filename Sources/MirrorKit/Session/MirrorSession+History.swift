public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// What earlier runs did, and why.
extension MirrorSession {
    /// The number of runs whose decisions about each target are kept.
    public static let remembersDecisionsOf = RunLog.mostRuns

    /// The last runs that had something to do, the newest first.
    ///
    /// Throws `MirrorError` with `inputOutput` or `indexNewer`.
    public func history(limit: Int = remembersDecisionsOf) async throws -> [PastRun] {
        try await reading { view in
            try await Offload.run {
                try view.index?.runs().suffix(max(limit, 0)).reversed().map(PastRun.init) ?? []
            }
        }
    }

    /// What the last runs decided about a target, the newest first.
    ///
    /// A run that kept the file as it was decided nothing about it, and neither did one that ended
    /// before the target's turn came. Throws `MirrorError` with `inputOutput` or `indexNewer`.
    public func decisions(
        about target: Target
    ) async throws -> [(run: PastRun, decision: PastDecision)] {
        try await reading { view in
            try await Offload.run {
                guard let root = view.root, let index = view.index else { return [] }
                let runs = try index.runs().suffix(MirrorSession.remembersDecisionsOf)
                return runs.reversed().compactMap { record in
                    var reader = DecisionLineReader(about: target)
                    var last: PastDecision?
                    RunLog.forEachLine(of: record.id, in: root) { line in
                        if let decision = reader.decision(in: line) { last = decision }
                    }
                    return last.map { (PastRun(record), $0) }
                }
            }
        }
    }

    /// The files that the newest run with an end failed to bring up to date, or left stale, as far
    /// as its log names them.
    ///
    /// Throws `MirrorError` with `inputOutput` or `indexNewer`.
    public func troubles(of runs: [PastRun]) async throws -> [Target: Outcome] {
        let kinds = [Outcome.failed, .stale]
        guard let run = runs.first(where: { $0.summary != nil }),
            kinds.contains(where: { run.summary?[$0] ?? 0 > 0 })
        else { return [:] }
        return try await reading { view in
            try await Offload.run {
                var troubles: [Target: Outcome] = [:]
                guard let root = view.root else { return troubles }
                let marks = kinds.map { Array("\"outcome\":\"\($0.rawValue)\"".utf8) }
                RunLog.forEachLine(of: run.id, in: root) { line in
                    // Most lines of a long log are about files that arrived.
                    guard marks.contains(where: line.holds),
                        let decision = PastDecision(line: Array(line))
                    else { return }
                    troubles[decision.target] = decision.outcome
                }
                return troubles
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
