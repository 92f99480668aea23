/// Transfers whose host does not answer.
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
}
