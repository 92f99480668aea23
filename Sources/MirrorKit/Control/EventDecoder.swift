internal import MirrorManifests
package import MirrorModel

/// Reads the events that another process sends, as far as a display needs them.
///
/// What a display does not show is made up: a reason, for example.
package enum EventDecoder {
    /// The event of a line; nil for other lines.
    package static func event(in line: [UInt8]) -> Event? {
        guard let tree = try? JSONTree(line, file: "event"),
            let body = Event.Body(tree), let run = tree["run"]?.string,
            let time = tree["time"]?.string.flatMap(Instant.init(rfc3339:))
        else { return nil }
        return Event(
            run: run, time: time, body: body,
            totals: tree["total"].map { RunTotals($0) } ?? RunTotals())
    }
}

extension Event.Body {
    fileprivate init?(_ tree: JSONTree) {
        let target = tree["path"]?.string.flatMap { try? Target($0) }
        let step = tree["step"]?.string.flatMap(Step.Kind.init(rawValue:)) ?? .fetch
        switch (tree["event"]?.string, target) {
        case ("start", let target?):
            self = .start(
                Event.Start(
                    target: target, step: step, reason: .missing, source: tree["source"]?.string,
                    size: tree["size"]?.int, offset: tree["offset"]?.int ?? 0))
        case ("progress", let target?):
            self = .progress(
                Event.Progress(
                    target: target, bytes: tree["bytes"]?.int ?? 0, size: tree["size"]?.int,
                    rate: tree["rate"]?.int ?? 0,
                    stage: tree["stage"]?.string.flatMap(TransferStage.init(rawValue:))
                        ?? .receiving))
        case ("restart", let target?): self = .restart(Event.Again(target, tree))
        case ("retry", let target?): self = .retry(Event.Again(target, tree))
        case ("done", let target?):
            let outcome = tree["outcome"]?.string.flatMap(Outcome.init(rawValue:)) ?? .fetched
            self = .done(
                Event.Done(
                    target: target, step: step, outcome: outcome, reason: .missing,
                    verified: tree["verified"]?.string.flatMap(Verification.init(rawValue:))
                        ?? .none))
        case ("failed", let target?):
            self = .failed(
                Event.Failed(
                    target: target, step: step, error: MirrorError(tree), isOptional: false,
                    manifest: tree["manifest"]?.string ?? "", line: 0))
        default: return nil
        }
    }
}

extension Event.Again {
    fileprivate init(_ target: Target, _ tree: JSONTree) {
        self.init(
            target: target,
            cause: MirrorError(
                FailureCode(rawValue: tree["cause"]?.string ?? ""),
                tree["message"]?.string ?? ""),
            attempt: Int(clamping: tree["attempt"]?.int ?? 1),
            wait: Int64(((tree["wait"]?.double ?? 0) * 1000).rounded()))
        if let next = tree["try"]?.int, let most = tree["tries"]?.int {
            tries = RetryTries(next: Int(clamping: next), most: Int(clamping: most))
        }
    }
}

extension MirrorError {
    fileprivate init(_ tree: JSONTree) {
        self.init(
            FailureCode(rawValue: tree["code"]?.string ?? ""), tree["message"]?.string ?? "")
    }
}
