/// Which source is asked next after a failure, and after which wait.
extension TransferMachine {
    /// Continues after a failure that may pass: with the next source first, then with a wait.
    ///
    /// - Parameters:
    ///   - after: the number of seconds for which the server asks to be left alone.
    ///   - isAtOnce: whether no wait is needed where no other source is left.
    mutating func retry(_ refusal: Refusal, after: Int64?, isAtOnce: Bool = false) -> TransferAction
    {
        var error = failure(refusal, isRetryable: true)
        if let after, after > policy.longestWait {
            error = failure(
                Refusal(
                    .retryAfterTooLong,
                    "\(refusal.cause) and asks for \(after) s of patience, more than "
                        + "\(policy.longestWait) s", status: refusal.status),
                isRetryable: true)
            sources[current].ending = error
            var action = nextSource(orFail: error)
            action.hostHold = after
            return action
        }
        sources[current].lastFailure = error
        failedInRound.insert(current)
        var action = nextInRound(after: after, error, isAtOnce: isAtOnce)
        action.hostHold = after
        return action
    }

    /// Moves to the next source that did not fail since the last wait and whose host may be asked.
    ///
    /// If there is none, the transfer waits, and then asks the first source whose host may be asked
    /// by then.
    private mutating func nextInRound(
        after: Int64?, _ error: MirrorError, isAtOnce: Bool = false
    ) -> TransferAction {
        if let after { sources[current].closedFor = after * 1000 }
        if isAtOnce, nextInThisRound == nil || staysWithPart { failedInRound.remove(current) }
        if let next = staysWithPart && isAtOnce ? current : nextInThisRound {
            current = next
            let notice = TransferAction.Notice.retry(
                cause: error, attempt: requests, waitMilliseconds: 0)
            return TransferAction(request(), notice: notice)
        }
        let live = sources.indices.filter { sources[$0].ending == nil }
        guard ladder.retries < policy.retries, !live.isEmpty else {
            return TransferAction(.fail(finalError(error)))
        }
        let backOff = ladder.next(RetryPolicy(policy), jitter: jitter)
        let wait = max(backOff, live.map { sources[$0].closedFor }.min() ?? 0)
        let open = live.filter { sources[$0].closedFor <= wait }
        // A source whose host was left alone so far had no chance yet.
        current = open.first { !failedInRound.contains($0) } ?? open.first ?? current
        failedInRound = []
        return TransferAction(
            .wait(milliseconds: wait),
            notice: .retry(
                cause: error, attempt: requests, waitMilliseconds: wait,
                tries: RetryTries(next: ladder.retries + 1, most: policy.retries + 1)))
    }

    /// The first source that may be asked at once.
    private var nextInThisRound: Int? {
        sources.indices.first {
            sources[$0].ending == nil && !failedInRound.contains($0) && sources[$0].closedFor == 0
        }
    }

    /// Takes how long the sources' hosts must not be asked, in milliseconds, in the sources' order.
    package mutating func know(closedFor: [Int64]) {
        for (position, time) in closedFor.enumerated() { sources[position].closedFor = time }
    }

    /// Ends the current source for this run, because it cannot give the bytes.
    mutating func end(
        _ refusal: Refusal, isRetryable: Bool? = nil, dropsPart: Bool = false
    ) -> TransferAction {
        let error = failure(refusal, isRetryable: isRetryable)
        sources[current].ending = error
        if dropsPart { forgetBytes() }
        if isPost {
            return TransferAction(.fail(finalError(error)), dropsPart: dropsPart)
        }
        var action = nextSource(orFail: error)
        action.dropsPart = action.dropsPart || dropsPart
        return action
    }

    /// Moves to the next source that was not left for good, or fails when none is left.
    private mutating func nextSource(orFail error: MirrorError) -> TransferAction {
        let live = sources.indices.filter { sources[$0].ending == nil }
        guard !live.isEmpty else { return TransferAction(.fail(finalError(error))) }
        return nextInRound(after: nil, error)
    }
}
