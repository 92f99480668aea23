/// Transfers whose host does not answer, and bytes that no request can resume.
extension TransferMachine {
    /// Continues after a request without an answer, to a host that answers no one else either.
    ///
    /// The time of the next try applies to all transfers that need the host. The next source comes
    /// first.
    ///
    /// - Parameter wait: the time until the host is tried again, in milliseconds.
    package mutating func unreachable(_ failure: TransportFailure, wait: Int64) -> TransferAction {
        forgetReception()
        let refusal = Refusal(failure.code, failure.cause)
        guard !isPost || !failure.wasSent else { return end(refusal, isRetryable: true) }
        let error = self.failure(refusal, isRetryable: true)
        sources[current].lastFailure = error
        sources[current].closedFor = max(1, wait)
        failedInRound.insert(current)
        if let next = otherSource {
            current = next
            return TransferAction(
                request(), notice: .retry(cause: error, attempt: requests, waitMilliseconds: 0))
        }
        // No host may be asked now. A source that was not tried since the last wait comes first,
        // even on the same host.
        let live = sources.indices.filter { sources[$0].ending == nil }
        let untried = live.filter { !failedInRound.contains($0) }
        if untried.isEmpty { failedInRound = [] }
        let next = (untried.isEmpty ? live : untried).min {
            sources[$0].closedFor < sources[$1].closedFor
        }
        current = next ?? current
        let notice = TransferAction.Notice.retry(
            cause: error, attempt: requests, waitMilliseconds: sources[current].closedFor)
        return TransferAction(request(), notice: notice)
    }

    /// Moves to another source, because the host does not answer and the request was not made.
    ///
    /// Returns nil when no other source is left, and the transfer has to wait for the host.
    package mutating func elsewhere() -> TransferAction? {
        guard let next = otherSource else { return nil }
        countRequest(-1)
        failedInRound.insert(current)
        current = next
        return TransferAction(request())
    }

    /// Ends the source, because its host gave no answer in a whole ladder of tries.
    ///
    /// - Parameter wasAsked: whether this transfer's request was the last try; otherwise it was not
    ///   made.
    package mutating func hostIsDown(
        _ host: String, _ outage: Outage, wasAsked: Bool
    ) -> TransferAction {
        if !wasAsked { countRequest(-1) }
        forgetReception()
        let tries = outage.tries == 1 ? "a try" : "\(outage.tries) tries"
        let refusal = Refusal(
            outage.failure.code,
            "\(host) gave no answer in \(tries), and is not asked any more in this run: "
                + outage.failure.cause)
        return end(refusal, isRetryable: outage.failure.isPassing)
    }

    private var otherSource: Int? {
        sources.indices.first {
            $0 != current && sources[$0].ending == nil && !failedInRound.contains($0)
                && sources[$0].closedFor == 0
        }
    }

    /// Fails a transfer that would receive its file a fourth time, because no byte can be resumed.
    mutating func failForWaste(_ refusal: Refusal) -> TransferAction? {
        guard let part, part.length > 0, !canGoOn(from: part) else { return nil }
        let total = knownTotal ?? greatestLength
        guard wasted + part.length > 2 * total else { return nil }
        var refusal = refusal
        refusal.cause +=
            "; \(ByteCount(wasted + part.length)) came of a file of \(ByteCount(total)), and its source "
            + "gives nothing by which a download could go on: a sha256 in the manifest would let it"
        let error = failure(refusal, isRetryable: true)
        sources[current].lastFailure = error
        return TransferAction(.fail(finalError(error)))
    }

    /// Whether the transfer must stay with the source that can resume its part.
    ///
    /// Another source would start over, and too many bytes were dropped already.
    var staysWithPart: Bool {
        guard let part, !isPinned(part), canGoOn(from: part) else { return false }
        return wasted + part.length > (knownTotal ?? greatestLength)
    }

    /// Whether any source could be asked for only the rest of the part.
    private func canGoOn(from part: PartState) -> Bool {
        sources.indices.contains { source in
            guard sources[source].ending == nil, sources[source].resumes else { return false }
            if isPinned(part) { return !bypassesCaches }
            return part.identity != .anonymous && part.validators.strong != nil
                && part.provenances.first?.source == sources[source].source.key
        }
    }
}

/// How often, and how long, a transfer has waited since it last made progress.
struct Ladder: Sendable, Hashable {
    private(set) var retries = 0
    private var waited: Int64 = 0

    /// The next wait, in milliseconds.
    mutating func next(_ policy: RetryPolicy, jitter: (Int64) -> Int64) -> Int64 {
        retries += 1
        let wait = policy.wait(beforeRetry: retries, waited: waited, jitter: jitter)
        waited += wait
        return wait
    }
}

extension PartState {
    /// The reason why a whole file came where only the rest of this part was requested.
    ///
    /// Either the file is another one, or the server sends no ranges.
    func reasonToBeginAgain(_ reception: Reception) -> Refusal {
        let sent = reception.answer.validators
        let hasChanged =
            total != nil && reception.total != nil && total != reception.total
            || validators.entityTag != sent.entityTag
                && provenances.first == reception.answer.provenance
        return hasChanged
            ? Refusal(.sourceChanged, "the file changed at its source: the server sent it anew")
            : Refusal(.rangeIgnored, "the server sent the whole file where the rest was asked for")
    }
}
