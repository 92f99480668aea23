/// The moves of a transfer: ask, start over, go to another source at once or after a wait, fail.
extension TransferMachine {
    /// The size of the whole file, as declared or as promised by the part's response.
    var knownTotal: Int64? { bytes.total(of: file) }

    /// Whether nothing that was declared or sent could show that bytes are missing at the end.
    var lacksProofOfLength: Bool {
        knownTotal == nil && file.expectation.isUnbounded && bytes.sentDigests.isEmpty
    }

    /// Whether no byte is missing, and a declared digest can show whether the bytes are right.
    var hasAllPinnedBytes: Bool {
        bytes.part.map { $0.length == knownTotal && $0.isPinned(by: file) } ?? false
    }

    /// Returns the error of a refusal by the current source, without advice in its message.
    func failure(_ refusal: ResponseError, isRetryable: Bool? = nil) -> MirrorError {
        var error = sources.error(
            refusal, of: file.target, attempts: asking.count, isRetryable: isRetryable)
        error.remedy = refusal.remedy(at: asking.plan.url)
        return error
    }

    /// Notes the part's length. Returns whether the part grew enough to count retries from 0 again.
    @discardableResult
    mutating func progressed(to length: Int64?) -> Bool {
        let hasProgressed = bytes.progressed(to: length)
        if hasProgressed { sources.progressed() }
        return hasProgressed
    }

    /// Begins the part with the first body of a file.
    ///
    /// If a request can resume the new part, its progress counts from 0, however long the part
    /// before it was. The new part may come in pieces. If no request can resume it, the greatest
    /// length of the run counts, because each attempt would bring the same bytes. A source that
    /// changes its file again and again sends new bytes each time, so `mostBeginnings` limits it.
    mutating func begin(_ reception: Reception, identity: PartIdentity, answer: Answer) {
        bytes.begin(reception, identity: identity, answer: answer)
        guard let part = bytes.part, mayResume(part),
            sources.states[sources.current].beginnings < TransferMachine.mostBeginnings
        else { return }
        sources.states[sources.current].beginnings += 1
        bytes.countFromStart()
    }

    /// How often the parts that begin with one source may count their progress from 0.
    ///
    /// Once, and once for each restart after which the source is still asked for ranges.
    static let mostBeginnings = 3
}

// MARK: Requests

extension TransferMachine {
    /// Returns a new request to the current source, or the check of a part that needs no request.
    mutating func request() -> TransferAction.Next {
        if hasAllPinnedBytes { return .check }
        asking.restart(at: sources, isPost: file.isPost)
        return hop()
    }

    /// Returns the next request at the URL that redirects have led to.
    mutating func hop() -> TransferAction.Next {
        let plan = asking.next(to: sources, for: file, after: bytes)
        sources.noteRequest()
        return .request(plan)
    }

    /// Drops the part, and asks the same source again. This costs no retry.
    mutating func startOver(_ refusal: ResponseError) -> TransferAction {
        sources.states[sources.current].restarts += 1
        let notice = TransferEvent.restart(
            cause: failure(refusal), attempt: asking.count)
        bytes.drop()
        return TransferAction(request(), dropsPart: true, notice: notice)
    }

    /// Continues after a range that ended before the file does.
    ///
    /// A range with less than 16 KiB that is shorter than the requested range counts as a failed
    /// try. Without this rule, a server could send one byte for each request.
    mutating func continueRange(from reception: Reception, length: Int64) -> TransferAction {
        let asked = asking.plan.end ?? knownTotal ?? .max
        guard length < asked,
            length - reception.offset < BytesInHand.progressThatResetsRetries
        else { return TransferAction(request()) }
        return retry(
            ResponseError(
                .connectionLost,
                "the server sent \(Counted(length - reception.offset, "byte")) where the rest was asked for"
            ),
            after: nil)
    }

    /// Drops the part, and asks the same source without ranges from now on. This costs no retry.
    mutating func askWhole(_ refusal: ResponseError) -> TransferAction {
        sources.states[sources.current].refusesRanges = true
        return startOver(refusal)
    }

    /// Asks the current source again, and lets its server choose the protocol.
    ///
    /// A long body is requested over HTTP/1.1. The few servers that do not speak it abort the
    /// handshake (RFC 7301 §3.2), close the connection, answer in their own protocol, or say so in
    /// their status. Such a server is asked once more at once, and from then on chooses the
    /// protocol. This costs no retry.
    mutating func askOverAnotherProtocol() -> TransferAction {
        sources.states[sources.current].protocols.refusesHTTP1 = true
        return askWithNewProtocols()
    }

    /// Asks the current source again, over a connection that no other request shares.
    ///
    /// This costs no retry. Returns nil if the last request shared no connection. Another request may
    /// have shown already that the source forbids sharing.
    mutating func askUnshared() -> TransferAction? {
        let plan = asking.plan
        let couldShare = plan.url.scheme == .https && !plan.usesHTTP1 && !plan.isAlone
        guard couldShare || !sources.states[sources.current].protocols.forbidsSharing else {
            return nil
        }
        sources.states[sources.current].protocols.forbidsSharing = true
        return askWithNewProtocols()
    }

    private mutating func askWithNewProtocols() -> TransferAction {
        var action = TransferAction(request())
        action.protocols = sources.states[sources.current].protocols
        return action
    }
}

// MARK: Credentials

extension TransferMachine {
    /// How long a transfer waits for other credentials, in milliseconds.
    ///
    /// The wait is long because a person may have to log in.
    private static let longestRenewal: Int64 = 300_000

    /// Whether requests to the current source are signed.
    var isSigned: Bool { sources.states[sources.current].source.isSigned }

    /// Whether other credentials could change a refusal.
    func mayBeAboutCredentials(_ refusal: ResponseError) -> Bool {
        guard let status = refusal.status else { return false }
        // S3 calls an expired token a bad request, and a wrong signature forbidden.
        return status == 401 || isSigned && (status == 400 || status == 403)
    }

    /// Waits for other credentials after a refusal, once for each source.
    ///
    /// Ends the source at once if the program can supply no others.
    mutating func askCredentials(_ refusal: ResponseError) -> TransferAction {
        let state = sources.states[sources.current]
        guard !state.hasAskedCredentials, state.source.mayRenewCredentials,
            asking.plan.carriesCredentials, !file.isPost
        else { return end(refusal) }
        sources.states[sources.current].awaited = refusal
        sources.states[sources.current].hasAskedCredentials = true
        var action = TransferAction(.wait(milliseconds: TransferMachine.longestRenewal))
        action.asksCredentials = true
        return action
    }

    /// Ends the wait for credentials. Returns the refusal that began it; nil if there was no wait.
    mutating func endRenewal() -> ResponseError? {
        sources.states[sources.current].awaited.take()
    }

    /// Asks the current source again with other credentials.
    mutating func renewed(after refusal: ResponseError) -> TransferAction {
        let notice = TransferEvent.retry(
            cause: failure(refusal, isRetryable: true), attempt: asking.count,
            waitMilliseconds: 0)
        return TransferAction(request(), notice: notice)
    }
}

// MARK: Failures

extension TransferMachine {
    /// Continues after a failure that may pass: with the next source, or after a wait.
    ///
    /// - Parameters:
    ///   - after: the number of seconds for which the server asks to be left alone.
    ///   - isAtOnce: whether the transfer needs no wait if no other source is left.
    ///   - stays: whether the current source is asked again, and no other.
    mutating func retry(
        _ refusal: ResponseError, after: Int64?, isAtOnce: Bool = false, stays: Bool = false
    ) -> TransferAction {
        // A place in front of the sources is worth no wait, unless it has just brought bytes.
        if sources.place != nil, !isAtOnce {
            return end(refusal, isRetryable: true)
        }
        var action: TransferAction
        if let after, after > file.policy.maxWait.wholeSeconds {
            let error = failure(refusal.asking(forSeconds: after, file.policy), isRetryable: true)
            sources.end(with: error)
            action = moveOn(from: error)
        } else {
            let error = failure(refusal, isRetryable: true)
            sources.fail(with: error)
            action = moveOn(from: error, after: after, isAtOnce: isAtOnce, stays: stays)
        }
        action.hostHold = after
        return action
    }

    /// Ends the current source for this run, because it cannot give the bytes.
    mutating func end(
        _ refusal: ResponseError, isRetryable: Bool? = nil, dropsPart: Bool = false
    ) -> TransferAction {
        let error = failure(refusal, isRetryable: isRetryable)
        let (place, isFile, isAbsent) = (sources.place, sources.isFile, lacks(refusal))
        sources.end(with: error)
        if dropsPart { bytes.drop() }
        var action = file.isPost ? fail(with: error) : moveOn(from: error)
        action.dropsPart = action.dropsPart || dropsPart
        if isAbsent {
            action.notice = nil
        } else if let place {
            // A person should see that a place has other bytes than it should.
            if dropsPart, action.notice != nil {
                action.notice = .restart(cause: error, attempt: asking.count)
            }
            // One bad file says nothing about the others in a folder.
            if isFile { return action }
            let isDown = refusal.status.map(StatusCode.meansDown) == true
            action.failedPlace = (place, refusal.cause, isDown)
        }
        return action
    }

    /// Whether a place in front of the sources says that it does not have the file.
    func lacks(_ refusal: ResponseError) -> Bool {
        sources.place != nil && refusal.status.map(StatusCode.meansAbsent) == true
    }

    /// Moves to the source that is asked next, at once or after a wait. Fails if there is none.
    private mutating func moveOn(
        from error: MirrorError, after: Int64? = nil, isAtOnce: Bool = false, stays: Bool = false
    ) -> TransferAction {
        let turn = sources.moveOn(
            after: after, isAtOnce: isAtOnce, stays: isAtOnce && (stays || mustStay), file.policy)
        guard let turn else { return fail(with: error) }
        let tries = turn.number.map { (next: $0, most: file.policy.retries + 1) }
        let notice = TransferEvent.retry(
            cause: error, attempt: asking.count, waitMilliseconds: turn.wait, tries: tries)
        return TransferAction(
            tries == nil ? request() : .wait(milliseconds: turn.wait), notice: notice)
    }

    /// Leaves the current source, because its host is not asked for `wait` milliseconds.
    mutating func leave(_ refusal: ResponseError, closedFor wait: Int64) -> TransferAction {
        let error = failure(refusal, isRetryable: true)
        let attempts = asking.count
        let wait = sources.leave(with: error, closedFor: wait)
        let next = request()
        return TransferAction(
            next,
            notice: .retry(
                cause: error, attempt: wait == nil ? asking.count : attempts,
                waitMilliseconds: wait ?? 0))
    }

    /// Moves to another source before the request is made, because the host does not answer.
    ///
    /// Returns nil if no other source may be asked. The transfer then waits for the host.
    mutating func elsewhere() -> TransferAction? {
        guard sources.moveElsewhere() else { return nil }
        asking.takeBack()
        return TransferAction(request())
    }

    private func fail(with error: MirrorError) -> TransferAction {
        TransferAction(.fail(sources.finalError(error, attempts: asking.count)))
    }
}

// MARK: Bytes that are received again

extension TransferMachine {
    /// Gives up a source that would send the file a fourth time.
    ///
    /// No request can resume its bytes, so each failure would make it send all bytes again. If
    /// another source is left, the transfer moves to it; otherwise the transfer fails. Returns nil
    /// if the transfer may go on.
    mutating func failForWaste(_ refusal: ResponseError) -> TransferAction? {
        guard let part = bytes.part, part.length > 0, !mayResume(part) else { return nil }
        let total = knownTotal ?? bytes.greatestLength
        // The subtraction avoids an overflow: a server may promise a total of nearly `Int64.max`.
        guard bytes.wastedSoFar - total > total else { return nil }
        let error = failure(
            refusal.afterWaste(of: bytes.wastedSoFar, total: total, whyNot(part)),
            isRetryable: true)
        if sources.hasOthers {
            sources.end(with: error)
            bytes.drop()
            var action = moveOn(from: error)
            action.dropsPart = true
            return action
        }
        sources.states[sources.current].lastFailure = error
        return fail(with: error)
    }

    /// Whether only the current source can continue the part. Another would begin again.
    var continuesOnlyHere: Bool {
        guard let part = bytes.part, !part.isPinned(by: file) else { return false }
        return mayResume(part, from: sources.current)
    }

    /// Returns why no request can resume a part, and what would help, as the end of a sentence.
    private func whyNot(_ part: PartState) -> String {
        let isPinned = part.isPinned(by: file)
        let mightGoOn = sources.states.contains {
            $0.ending == nil && $0.resumes
                && (isPinned || part.provenances.first?.source == $0.source.key)
        }
        guard mightGoOn else { return "no source continued it where the rest was asked for" }
        return isPinned
            ? "a download after wrong bytes can go on only under a strong validator, which its "
                + "source does not give"
            : "its source gives nothing by which a download could go on: a sha256 in the manifest "
                + "would let it"
    }

    /// Whether the transfer must stay with the source that can resume its part.
    ///
    /// Another source would start over, and too many bytes were dropped already.
    private var mustStay: Bool {
        guard let part = bytes.part, !part.isPinned(by: file), mayResume(part) else { return false }
        return bytes.wastedSoFar > (knownTotal ?? bytes.greatestLength)
    }

    private func mayResume(_ part: PartState) -> Bool {
        sources.states.indices.contains { mayResume(part, from: $0) }
    }

    /// Whether a source could be asked for only the rest of a part.
    func mayResume(_ part: PartState, from position: Int) -> Bool {
        sources.mayResume(
            part, from: position, isPinned: part.isPinned(by: file),
            bypassesCaches: asking.bypassesCaches)
    }
}
