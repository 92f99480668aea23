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
