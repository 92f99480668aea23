/// Events as JSON objects, as docs/events.md describes them.
extension Event {
    /// The event as one line of JSON, as `sync --json` prints it.
    public var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Writes the event as one JSON object. Keys that do not apply are null.
    package func write(to writer: inout JSONWriter) { write(to: &writer, alwaysWithTotals: false) }

    /// Writes the event as one JSON object.
    ///
    /// - Parameter alwaysWithTotals: whether all events have the totals, not only `progress`.
    func write(to writer: inout JSONWriter, alwaysWithTotals: Bool) {
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
        case .paused: "paused"
        case .resumed: "resumed"
        case .done: "done"
        case .failed: "failed"
        case .removed: "removed"
        case .set: "set"
        case .warning: "warning"
        case .summary: "summary"
        }
    }

    fileprivate func writeMembers(to json: inout JSONWriter) {
        switch self {
        case .plan(let totals): totals.writeMembers(to: &json)
        case .start(let start): start.writeMembers(to: &json)
        case .progress(let progress): progress.writeMembers(to: &json)
        case .retry(let again), .restart(let again): again.writeMembers(to: &json)
        case .paused(let target), .resumed(let target): json.member("path", target?.path)
        case .done(let done): done.writeMembers(to: &json)
        case .failed(let failed): failed.writeMembers(to: &json)
        case .removed(let removed): removed.writeMembers(to: &json)
        case .set(let end): end.writeMembers(to: &json)
        case .warning(let text): json.member("message", text)
        case .summary(let summary): summary.writeMembers(to: &json)
        }
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

extension Event.Progress {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("bytes", bytes)
        json.member("size", size)
        json.member("rate", rate)
        json.member("stage", stage.rawValue)
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

extension Event.Removed {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("reason", reason.code)
        json.member("because", reason.because)
        json.member("size", size)
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
