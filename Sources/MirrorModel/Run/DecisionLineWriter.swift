/// Writes what a run decided as lines of its log.
///
/// Most decisions of a run are like the one before. A whole line begins with `path` and says everything;
/// a short line begins with `also`, and says only the path, the bytes, the source and the times: in all
/// else the resource went the way of the last whole line before.
package struct DecisionLineWriter: Sendable {
    /// The lines since `clear`.
    package var bytes: [UInt8] { json.bytes }
    private var json = JSONWriter()
    /// What the last whole line says and a short line may leave out; nil where it is of no use.
    private var last: Manner?

    private struct Manner: Equatable {
        let step: Step.Kind
        let outcome: Outcome
        let reason: Reason
        let verified: Verification
        let version: HTTPVersion?
        let ranges: RangeSupport?

        init(_ done: Event.Done) {
            step = done.step
            outcome = done.outcome
            reason = done.reason
            verified = done.verified
            let trace = done.trace
            version = trace?.version
            ranges = trace?.ranges
        }
    }

    /// No lines yet.
    package init() {}

    /// Drops the lines, and keeps their memory.
    package mutating func clear() { json.clear() }

    /// Adds the line of a resource's last event, if that reports a decision.
    ///
    /// - Parameters:
    ///   - failures: the requests for the resource that failed in passing.
    ///   - reason: why the plan had the step; only the event of a failure does not say it.
    package mutating func add(
        _ event: Event.Body, failures: [PastDecision.PassingFailure], reason: Reason?
    ) {
        var manner: Manner?
        // A stale file is looked for in the log by its outcome, so its line is whole.
        if case .done(let done) = event, done.outcome != .kept, done.outcome != .stale {
            manner = Manner(done)
            if failures.isEmpty, manner == last { return addShort(done) }
        }
        guard let decision = PastDecision(event, failures: failures, reason: reason) else { return }
        add(decision)
        last = manner
    }

    /// Adds the whole line of a decision.
    package mutating func add(_ decision: PastDecision) {
        last = nil
        json.object { decision.writeMembers(to: &$0) }
        json.newline()
    }

    private mutating func addShort(_ done: Event.Done) {
        json.literal("{\"also\":")
        json.string(done.target.path)
        json.literal(",\"bytesReceived\":")
        json.number(done.bytesReceived)
        if done.bytesReused > 0 {
            json.literal(",\"bytesReused\":")
            json.number(done.bytesReused)
        }
        if let source = done.source {
            json.literal(",\"source\":")
            json.string(source)
        }
        if let trace = done.trace {
            json.literal(",\"began\":")
            json.number(trace.began)
            json.literal(",\"ended\":")
            json.number(trace.ended)
        }
        json.literal("}\n")
    }
}
