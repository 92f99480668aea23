/// A run that the index remembers.
package struct PastRun: Sendable, Hashable {
    /// The run's identifier.
    package var id: String
    /// When the run began.
    package var startedAt: Instant
    /// When the run ended. `nil` means that it is under way, or was killed.
    var endedAt: Instant?
    /// The run's totals. `nil` means that it is under way, or was killed.
    package var summary: Summary?

    /// Takes what is known of a run.
    init(id: String, startedAt: Instant, endedAt: Instant? = nil, summary: Summary? = nil) {
        self.id = id
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.summary = summary
    }

    /// Whether the run only removed files, as `prune` and `evict` do, so that it asked no source.
    package var onlyRemoved: Bool {
        guard let summary, summary.exit == 0, summary.removed + summary[.evicted] > 0 else {
            return false
        }
        return summary.resources == summary[.evicted]
    }

    /// Writes the run as one JSON object. A run without an end has `exit` null and no totals.
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("run", id)
            json.member("started", startedAt.rfc3339)
            json.member("ended", endedAt?.rfc3339)
            if let summary {
                summary.writeMembers(to: &json)
            } else {
                json.member("exit", Int?.none)
            }
        }
    }
}

// The newest runs of a list that is sorted by time, the newest first. A run that only removed files
// says nothing about the others.

extension [PastRun] {
    /// The newest run that ended, or that of each shard, if shards ran last; the newest first.
    var newestEnded: [PastRun] {
        let ended = filter { $0.summary != nil && !$0.onlyRemoved }
        let count = { (run: PastRun) in run.summary?.shard.flatMap { try? Shard($0) }?.count ?? 1 }
        var shards: Set<String?> = []
        return ended.filter { run in
            ended.first.map(count) == count(run) && shards.insert(run.summary?.shard).inserted
        }
    }

    /// The newest run that ended. Of the newest runs of shards, one that failed.
    package var lastEnded: PastRun? {
        let newest = newestEnded
        return newest.first { $0.summary?.exit != 0 } ?? newest.first
    }

    /// The newest run that ended with exit 0.
    package var lastGood: PastRun? { first { $0.summary?.exit == 0 && !$0.onlyRemoved } }
}

/// A run's decision about a target: the step, its reason, and how it ended.
package struct PastDecision: Sendable, Hashable {
    /// The target.
    package var target: Target
    /// The step of the plan.
    package var step: Step.Kind
    /// Why the plan has the step, as a code for scripts.
    var reason: String
    /// Why the plan has the step, as a sentence.
    package var because: String
    /// How the step ended. `nil` means that the step was to remove an orphan.
    package var outcome: Outcome?
    /// Body bytes that arrived.
    package var bytesReceived: Int64 = 0
    /// Bytes that were in the tree already, and were not fetched again.
    package var bytesReused: Int64 = 0
    /// The source that answered, without its query.
    package var source: String?
    /// How the bytes were verified.
    package var verified: Verification?
    /// The failed requests after which another request followed, in order.
    package var failures: [PassingFailure] = []
    /// The error of a resource that failed.
    package var error: MirrorError?
    /// Whether the resource is optional, so that its failure left the run successful.
    package var isOptional = false
    /// When the resource's transfer began and ended.
    ///
    /// `nil` means that no transfer was needed, or that the log has no times.
    package var trace: TransferTrace?

    /// A request that failed, and after which another followed.
    package struct PassingFailure: Sendable, Hashable {
        /// The kind of failure.
        package var code: FailureCode
        /// A sentence that describes the failure.
        package var message: String
        /// Milliseconds until the next request.
        package var wait: Int64
        /// When the wait began, in milliseconds of the run as in `TransferTrace`.
        ///
        /// `nil` means that the log does not have it.
        package var began: Int64?
        /// The status of the server's answer, if it answered.
        package var status: Int?

        /// Takes the cause and the wait.
        init(
            code: FailureCode, message: String, wait: Int64, began: Int64? = nil,
            status: Int? = nil
        ) {
            (self.began, self.status) = (began, status)
            self.code = code
            self.message = message
            self.wait = wait
        }
    }

    /// Writes the decision as members of an object, the target's path first.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("path", target.path)
        json.member("step", step.rawValue)
        json.member("reason", reason)
        json.member("because", because)
        json.member("outcome", outcome?.rawValue)
        json.member("bytesReceived", bytesReceived)
        json.member("bytesReused", bytesReused)
        json.member("source", source)
        json.member("verified", verified?.rawValue)
        json.key("retries")
        json.array { json in
            for failure in failures {
                json.object { json in
                    json.member("cause", failure.code.rawValue)
                    json.member("message", failure.message)
                    json.member("status", failure.status)
                    json.key("wait")
                    json.number(Double(failure.wait) / 1000, decimals: 3)
                    json.member("began", failure.began)
                }
            }
        }
        json.key("error")
        if let error {
            json.object { json in
                error.writeMembers(to: &json)
                json.member("optional", isOptional)
                json.member("remedy", error.remedy?.kind.rawValue)
                json.member("remedySubject", error.remedy?.subject)
            }
        } else {
            json.null()
        }
        json.key("transfer")
        if let trace { json.object { trace.writeMembers(to: &$0) } } else { json.null() }
    }
}

extension PastDecision {
    /// Makes the decision that a resource's last event reports.
    ///
    /// Returns nil for an event that ends no resource. Returns nil for a kept file too, because no
    /// decision was made about it.
    init?(_ event: Event.Body, failures: [PassingFailure], reason: Reason?) {
        switch event {
        case .done(let done) where done.outcome != .kept:
            self.init(
                target: done.target, step: done.step, reason: done.reason.code,
                because: done.reason.because)
            outcome = done.outcome
            bytesReceived = done.bytesReceived
            bytesReused = done.bytesReused
            source = done.source
            verified = done.verified
            trace = done.trace
        case .failed(let failed):
            self.init(
                target: failed.target, step: failed.step, reason: reason?.code ?? "",
                because: reason?.because ?? "")
            outcome = failed.step == .remove ? nil : .failed
            source = failed.error.source
            error = failed.error
            isOptional = failed.isOptional
            trace = failed.trace
        case .removed(let removed):
            self.init(
                target: removed.target, step: .remove, reason: removed.reason.code,
                because: removed.reason.because)
        default: return nil
        }
        self.failures = failures
    }

    /// Makes the decision about a resource that was not finished when the run ended.
    init(interrupted step: Step, failures: [PassingFailure]) {
        self.init(
            target: step.target, step: step.kind, reason: step.reason.code,
            because: step.reason.because)
        outcome = .interrupted
        self.failures = failures
    }
}
