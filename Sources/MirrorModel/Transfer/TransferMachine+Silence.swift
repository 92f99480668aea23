/// What becomes of a transfer whose host does not answer, and of bytes that nothing can go on from.
extension TransferMachine {
    /// The request ended without an answer, and the host gives none to others either: when it is asked
    /// again is for all who need it to wait for. The next source first.
    ///
    /// - Parameter wait: when the host is tried again, in milliseconds from now.
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
        // No host may be asked now: one that was not tried since the last wait comes first, on the same
        // host too.
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

    /// The request was not made, because the host does not answer; nil when no other source is left to
    /// go to, and the host has to be waited for.
    package mutating func elsewhere() -> TransferAction? {
        guard let next = otherSource else { return nil }
        countRequest(-1)
        failedInRound.insert(current)
        current = next
        return TransferAction(request())
    }

    /// The host gave no answer in a whole ladder of tries.
    ///
    /// - Parameter wasAsked: whether this transfer's request was the last try; else it was not made.
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

    /// The end of a transfer that would receive its file a fourth time, because nothing of it can be
    /// resumed.
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

    /// Whether another source would begin anew what this one can go on with, and so much was begun anew
    /// already that this must not go on.
    var staysWithPart: Bool {
        guard let part, !isPinned(part), canGoOn(from: part) else { return false }
        return wasted + part.length > (knownTotal ?? greatestLength)
    }

    /// Whether any source would be asked for the rest only.
    private func canGoOn(from part: PartState) -> Bool {
        sources.indices.contains { source in
            guard sources[source].ending == nil, sources[source].resumes else { return false }
            if isPinned(part) { return !bypassesCaches }
            return part.identity != .anonymous && part.validators.strong != nil
                && part.provenances.first?.source == sources[source].source.key
        }
    }
}

/// How often, and how long, a transfer has waited since it last got on.
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
    /// Why a whole file came where the rest of this part was asked for: the file is another one, or the
    /// server sends no ranges.
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
