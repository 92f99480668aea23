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
                var start = JSONWriter()
                start.beginObject()
                start.member("path", target.path)
                let bytes = start.take() + Array(",".utf8)
                let runs = try index.runs().suffix(MirrorSession.remembersDecisionsOf)
                return runs.reversed().compactMap { record in
                    RunLog.line(beginningWith: bytes, of: record.id, in: root)
                        .flatMap(PastDecision.init(line:))
                        .map { (PastRun(record), $0) }
                }
            }
        }
    }
}
