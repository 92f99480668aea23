extension Event {
    /// Writes the event as one JSON object; keys that do not apply are null.
    public func write(to writer: inout JSONWriter) { write(to: &writer, alwaysWithTotals: false) }

    /// Writes the event as one JSON object; keys that do not apply are null.
    ///
    /// - Parameter alwaysWithTotals: whether events other than `progress` have the run's totals too.
    package func write(to writer: inout JSONWriter, alwaysWithTotals: Bool) {
        writer.object { json in
            json.member("v", 1)
            json.member("event", body.name)
            json.member("run", run)
            json.member("time", time.rfc3339)
            body.writeMembers(to: &json)
            var hasTotals = alwaysWithTotals
            if case .progress = body { hasTotals = true }
            if hasTotals {
                json.key("total")
                json.object { totals.writeMembers(to: &$0) }
            }
        }
    }
}

extension Event.Body {
    fileprivate var name: String {
        switch self {
        case .plan: "plan"
        case .start: "start"
        case .progress: "progress"
        case .retry: "retry"
        case .restart: "restart"
        case .done: "done"
        case .failed: "failed"
        case .removed: "removed"
        case .set: "set"
        case .summary: "summary"
        }
    }

    fileprivate func writeMembers(to json: inout JSONWriter) {
        switch self {
        case .plan(let totals): totals.writeMembers(to: &json)
        case .start(let start): start.writeMembers(to: &json)
        case .progress(let progress):
            json.member("path", progress.target.path)
            json.member("bytes", progress.bytes)
            json.member("size", progress.size)
            json.member("rate", progress.rate)
            json.member("stage", progress.stage.rawValue)
        case .retry(let again), .restart(let again): again.writeMembers(to: &json)
        case .done(let done): done.writeMembers(to: &json)
        case .failed(let failed): failed.writeMembers(to: &json)
        case .removed(let removed):
            json.member("path", removed.target.path)
            json.member("reason", removed.reason.code)
            json.member("because", removed.reason.because)
            json.member("size", removed.size)
        case .set(let end): end.writeMembers(to: &json)
        case .summary(let summary): summary.writeMembers(to: &json)
        }
    }
}

extension RunTotals {
    /// Writes the totals as members of an object.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("transfers", transfers)
        json.member("ended", ended)
        json.member("failed", failed)
        json.member("bytes", bytes)
        json.member("expectedBytes", expectedBytes)
        json.member("unknownSizes", unknownSizes)
        json.member("rate", rate)
        json.member("secondsLeft", secondsLeft)
    }
}

extension PlanTotals {
    /// Writes the totals as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.key("steps")
        json.object { json in
            for kind in Step.Kind.allCases {
                json.key(named: kind.rawValue)
                json.number(steps[kind, default: 0])
            }
        }
        json.member("bytesToFetch", bytesToFetch)
        json.member("unknownSizes", unknownSizes)
        json.member("bytesReused", bytesReused)
        json.member("bytesToCopy", bytesToCopy)
        json.member("requests", requests)
        json.member("orphans", orphans)
    }
}

extension Event.Start {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("step", step.rawValue)
        json.member("reason", reason.code)
        json.member("source", source)
        json.member("size", size)
        json.member("offset", offset)
    }
}

extension Event.Again {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("cause", cause.code.rawValue)
        json.member("message", cause.message)
        json.member("attempt", attempt)
        json.key("wait")
        json.number(Double(wait) / 1000, decimals: 3)
        json.member("try", tries?.next)
        json.member("tries", tries?.most)
    }
}

extension Event.Done {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("step", step.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("reason", reason.code)
        json.member("because", reason.because)
        json.member("bytesReceived", bytesReceived)
        json.member("bytesReused", bytesReused)
        json.member("sha256", sha256?.hex)
        json.member("source", source)
        json.member("verified", verified.rawValue)
        if bytesFreed > 0 { json.member("bytesFreed", bytesFreed) }
        if let conflict { json.member("conflict", conflict.path) }
    }
}

extension Event.Failed {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("step", step.rawValue)
        error.writeMembers(to: &json)
        json.member("optional", isOptional)
        json.member("manifest", manifest)
        json.member("line", line == 0 ? nil : line)
    }
}

extension Event.SetEnd {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("manifests", set.owners)
        json.member("promoted", way != nil)
        json.member("way", way?.rawValue)
        json.member("folder", set.folder)
        json.member("files", files)
        json.member("removed", removed)
        json.member("unfinished", isUnfinished)
        json.member("kept", kept)
        json.member("obstacle", obstacle?.code)
        json.member("because", obstacle?.because)
        json.member("obstacles", obstacles)
    }
}

extension MirrorError {
    /// Writes the error's fields as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.member("code", code.rawValue)
        json.member("message", message)
        json.member("retryable", isRetryable)
        json.member("source", source)
        json.member("status", status)
        json.member("attempts", attempts)
        json.member("expected", expected)
        json.member("actual", actual)
        json.member("tried", tried)
    }
}

extension Summary {
    /// Writes the summary as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.member("exit", exit)
        json.key("error")
        if let error {
            json.object { error.writeMembers(to: &$0) }
        } else {
            json.null()
        }
        json.member("root", root)
        json.member("resources", resources)
        for outcome in Outcome.allCases {
            json.key(named: outcome.summaryKey)
            json.number(self[outcome])
        }
        json.member("failedOptional", failedOptional)
        json.member("removed", removed)
        json.member("orphans", orphans)
        json.member("unverified", unverified)
        json.member("setsLeft", setsLeft)
        json.member("bytesReceived", bytesReceived)
        json.member("bytesReused", bytesReused)
        json.member("partBytes", partBytes)
        json.member("requests", requests)
        json.key("seconds")
        json.number(seconds, decimals: 3)
    }
}

extension Summary {
    /// The summary as a JSON object.
    public var json: String {
        var json = JSONWriter()
        json.object { writeMembers(to: &$0) }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension Outcome {
    /// The name of the summary's member that counts it.
    package var summaryKey: String {
        switch self {
        case .notModified: "revalidated"
        case .conflict: "conflicts"
        default: rawValue
        }
    }
}
