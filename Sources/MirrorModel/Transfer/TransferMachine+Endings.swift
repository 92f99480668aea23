/// The consequences of failures, and of complete bytes.
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

    /// Decides about the hashed bytes; declared pieces were compared with their digests.
    ///
    /// - Parameter digests: the digests of the whole file, one for each declared or sent algorithm
    ///   and sha256.
    package mutating func checked(size: Int64, digests: [Digest], piecesHold: Bool? = nil)
        -> TransferAction
    {
        if let expected = expectation.size, expected != size {
            let refusal = Refusal(
                .sizeMismatch,
                "the file has \(Counted(size, "byte")), the manifest says \(expected)",
                expected: String(expected), actual: String(size))
            return end(refusal, dropsPart: true)
        }
        if let refusal = mismatch(digests, piecesHold) { return wrongBytes(refusal) }
        guard let answer else {
            return TransferAction(
                .fail(failure(Refusal(.internalError, "bytes without an answer"))))
        }
        return TransferAction(.accept(verification(piecesHold), answer))
    }

    private func verification(_ piecesHold: Bool?) -> Verification {
        if expectation.pin != nil || piecesHold == true { return .digest }
        if expectation.size != nil || !expectation.digests.isEmpty || !sentDigests.isEmpty {
            return .size
        }
        return isFramed ? .size : .none
    }

    private func mismatch(_ digests: [Digest], _ piecesHold: Bool?) -> Refusal? {
        // The server's statements about its bytes count only where the manifest does not prove
        // them.
        let wanted = expectation.digests + (expectation.pin == nil ? sentDigests : [])
        for expected in wanted {
            guard let actual = digests.first(where: { $0.algorithm == expected.algorithm }),
                actual != expected
            else { continue }
            let sayer = expectation.digests.contains(expected) ? "the manifest" : "the server"
            return Refusal(
                .digestMismatch,
                "\(expected.algorithm.rawValue) is \(actual.hex), \(sayer) says \(expected.hex)",
                expected: expected.description, actual: actual.description)
        }
        if piecesHold == false {
            return Refusal(.digestMismatch, "a piece does not have the digest in the manifest")
        }
        return nil
    }

    private mutating func wrongBytes(_ refusal: Refusal) -> TransferAction {
        // A single bad connection of several, even to one source, may be to blame.
        let isBlameless =
            (part?.isOfOneGo == false || part?.isSegmented == true) && !wasCleaned
        if isBlameless, part?.isOfOneGo == true { sources[current].wrongBodies += 1 }
        let notice = TransferAction.Notice.restart(cause: failure(refusal), attempt: requests)
        forgetBytes()
        if isBlameless {
            wasCleaned = true
            bypassesCaches = true
            return TransferAction(request(), dropsPart: true, notice: notice)
        }
        sources[current].wrongBodies += 1
        bypassesCaches = sources.count == 1
        if sources.count == 1, sources[current].wrongBodies < 2 {
            return TransferAction(request(), dropsPart: true, notice: notice)
        }
        return end(refusal, dropsPart: true)
    }

    func failure(_ refusal: Refusal, isRetryable: Bool? = nil) -> MirrorError {
        let source = sources[current].source.url.description
        var error = MirrorError(
            refusal.code, "\(target): \(refusal.cause) (from \(source)).", target: target)
        error.source = source
        error.status = refusal.status
        error.attempts = requests
        error.expected = refusal.expected
        error.actual = refusal.actual
        error.tried = tried.map { sources[$0].source.url.description }
        if let isRetryable { error.isRetryable = isRetryable }
        return error
    }

    /// The one error that stands for all sources.
    ///
    /// It is one that may heal, otherwise a wrong digest, otherwise the last.
    func finalError(_ last: MirrorError) -> MirrorError {
        let errors = sources.compactMap { $0.ending ?? $0.lastFailure }
        var error =
            errors.first { $0.isRetryable } ?? errors.first { $0.code == .digestMismatch } ?? last
        error.attempts = requests
        error.tried = tried.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
            .map { sources[$0].source.url.description }
        error.message += nextStep(error)
        return error
    }

    private func nextStep(_ error: MirrorError) -> String {
        let count = Set(tried).count
        let scope = count > 1 ? " None of \(count) sources gave the file." : ""
        if error.isRetryable { return scope + " Run again later." }
        switch error.code {
        case .digestMismatch, .sizeMismatch:
            return scope + " The bytes were dropped; correct the manifest if the file is right."
        case .httpStatus, .redirectRefused, .tooManyRedirects: return scope + " Check the URL."
        case .tooLarge: return scope + " Raise the limit, or declare the size."
        default: return scope
        }
    }
}
