/// The state machine of one transfer from its first request to its end, without I/O.
///
/// A driver makes the request that an action asks for, reports the result, and gets the next
/// action:
///
///     begin ─→ request ─→ answered ─→ receive ─→ bodyEnded ─→ check ─→ checked ─→ accept
///                 ↑          │ 30x, 416, wrong 206  │                    │ wrong digest
///                 ├──────────┘                      │                    │
///                 └── wait ←── interrupted, 503 ────┴────────────────────┘
///
/// A transfer leaves a failing source for the next source before any wait. If a connection breaks
/// after it brought bytes, the machine repeats the request at once. Starting over costs no retry,
/// but happens only twice for each source. After that the source is asked without a range. No
/// source sends more than two whole bodies in one run, and bytes that cannot be resumed are
/// received three times at most.
///
/// The machine has a struct for each question. `SourceChoice` decides which source is asked next.
/// `TransferRequests` decides what it is asked for. `BytesInHand` knows which bytes came, and
/// whether complete bytes are right.
struct TransferMachine: ~Copyable, Sendable {
    let file: WantedFile
    var sources: SourceChoice
    var asking: TransferRequests
    var bytes: BytesInHand
    /// Whether the one clean download after a mismatch has begun.
    ///
    /// It follows a mismatch for which no single source could be blamed.
    private(set) var wasCleaned = false

    /// Takes all that is known before the first request. There is at least one source.
    init(
        target: Target, sources: [CandidateSource], isPost: Bool = false,
        expectation: Expectation = Expectation(), local: LocalVersion? = nil,
        part: (record: PartRecord, length: Int64)? = nil,
        policy: TransferPolicy = TransferPolicy(),
        jitter: @escaping @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    ) {
        precondition(!sources.isEmpty, "a transfer has at least one source")
        file = WantedFile(
            target: target, isPost: isPost, expectation: expectation, policy: policy,
            local: isPost ? nil : local)
        self.sources = SourceChoice(sources, jitter: jitter)
        asking = TransferRequests(at: sources[0].url, isPost: isPost)
        bytes = BytesInHand(part, isPost: isPost)
    }

    /// The number of requests so far.
    var requests: Int { asking.count }

    /// The part in hand.
    var part: PartState? { bytes.part }

    /// The body being received.
    var reception: Reception? { bytes.reception }

    /// Digests that servers sent for the bytes in hand.
    var sentDigests: [Digest] { bytes.sentDigests }

    /// Returns the first action, and drops a part that is longer than the file.
    mutating func begin() -> TransferAction {
        if let part, let total = knownTotal, part.length > total {
            bytes.dropPart()
            return TransferAction(request(), dropsPart: true)
        }
        sources.begin(with: part?.identity)
        return TransferAction(request())
    }

    /// Continues after a wait. If the wait was for credentials, they did not come.
    mutating func waited() -> TransferAction {
        endRenewal().map { end($0) } ?? TransferAction(request())
    }

    /// Continues with other credentials. Returns nil if the transfer does not wait for credentials.
    ///
    /// - Parameter reason: why no other credentials were supplied; nil if they were.
    mutating func renewed(without reason: String?) -> TransferAction? {
        guard var refusal = endRenewal() else { return nil }
        guard let reason else { return renewed(after: refusal) }
        refusal.cause += ", and no other credentials were supplied: \(reason)"
        return end(refusal)
    }

    /// Notes for how many milliseconds each source's host must not be asked, in the sources' order.
    mutating func know(closedFor: [Int64]) { sources.know(closedFor: closedFor) }

    /// Notes what is known of the protocols that a source's host speaks.
    mutating func know(_ protocols: HostProtocols, of source: Int) {
        sources.states[source].protocols.learn(protocols)
    }

    /// Returns the next request, over a protocol that its host speaks.
    ///
    /// Other transfers may have found the protocols of the host after the machine planned the
    /// request.
    mutating func adapted(to protocols: HostProtocols) -> RequestPlan {
        know(protocols, of: asking.plan.source)
        return asking.setProtocol(sources, isPost: file.isPost)
    }
}

// MARK: Responses

extension TransferMachine {
    /// Judges the head of a response, and returns the next action.
    mutating func answered(_ head: ResponseHead, at now: Instant) -> TransferAction {
        if asking.plan.isRefused(by: head.status) { return askOverAnotherProtocol() }
        // The connection leads to another host. A connection of its own leads to the right one.
        if head.status == 421, !file.isPost, let action = askUnshared() {
            return action
        }
        let omitsRange = sources.endOmission()
        let evaluator = ResponseEvaluator(
            plan: asking.plan, source: sources.key, part: part,
            local: file.local, expectation: file.expectation,
            policy: file.policy, target: file.target)
        switch evaluator.judge(head, at: now) {
        case .receive(let reception): return receive(reception, omitsRange: omitsRange)
        case .notModified(let answer):
            return TransferAction(.confirm(answer), dropsPart: part != nil)
        case .partIsComplete:
            bytes.complete()
            return TransferAction(.check)
        case .startOver(let refusal): return startOver(refusal)
        case .askPlainly:
            sources.states[sources.current].asksPlainly = true
            return TransferAction(request())
        case .askWhole(let refusal): return askWhole(refusal)
        case .askWithoutRange(let refusal) where lacks(refusal): return end(refusal)
        case .askWithoutRange:
            sources.states[sources.current].omitsRange = true
            return TransferAction(request())
        case .askUnshared(let refusal): return askUnshared() ?? end(refusal)
        case .redirect(let location):
            do { try asking.follow(head, to: location, at: now) } catch {
                return end(error)
            }
            return TransferAction(hop())
        case .retry(let refusal, let after):
            guard !file.isPost else { return end(refusal, isRetryable: true) }
            return retry(refusal, after: after)
        case .refuse(let refusal) where mayBeAboutCredentials(refusal):
            return askCredentials(refusal.naming(clockOf: head, at: now, isSigned: isSigned))
        case .refuse(let refusal): return end(refusal)
        }
    }

    private mutating func receive(_ reception: Reception, omitsRange: Bool) -> TransferAction {
        var action = TransferAction(.receive(reception))
        if reception.isRange {
            bytes.continue(reception, isGuarded: asking.plan.ifRange != nil)
            return action
        }
        action.dropsPart = part != nil
        var answer = reception.answer
        if let part, asking.plan.asksRange || omitsRange {
            sources.states[sources.current].restarts += 1
            if omitsRange { sources.states[sources.current].refusesRanges = true }
            let reason = part.reasonToBeginAgain(reception)
            if reason.code == .rangeIgnored { answer = answer.with(ranges: .refused) }
            action.notice = .restart(cause: failure(reason), attempt: requests)
        }
        let identity =
            reception.isDoubtful ? PartIdentity.anonymous : file.identity(of: reception)
        begin(reception, identity: identity, answer: answer)
        return action
    }
}

// MARK: Bodies

extension TransferMachine {
    /// Handles a body that ended well. The part has `length` bytes now.
    ///
    /// - Parameter isCut: whether the TLS connection ended without close_notify. Then the end of
    ///   the connection may have cut a body without a length (RFC 9112 §9.8).
    mutating func bodyEnded(length: Int64, isCut: Bool = false) -> TransferAction {
        guard let reception else { return TransferAction(.check) }
        if isCut, reception.framing == .unbounded, lacksProofOfLength {
            return interrupted(.cutUnseen(at: length), length: length)
        }
        if reception.isDoubtful, let total = reception.total, length != total {
            return askWhole(.wrongLength(length, of: total))
        }
        let end = reception.end ?? (reception.framing == .unbounded ? reception.total : nil)
        if let end, length < end {
            return interrupted(.cutShort(at: length, of: end), length: length)
        }
        progressed(to: length)
        bytes.endBody(isFramed: reception.end != nil || reception.framing == .chunked)
        guard let total = reception.total, length != total else { return TransferAction(.check) }
        // A range that ends early is progress; a whole body that ends early is another file.
        if length < total, reception.isRange {
            return continueRange(from: reception, length: length)
        }
        return self.end(.wrongLength(length, of: total), dropsPart: true)
    }

    /// Handles more bytes than the reception's limit allows.
    mutating func exceeded(limit: Int64) -> TransferAction {
        let isDeclared = file.expectation.size != nil || reception?.total != nil
        bytes.breakOff()
        return end(.tooManyBytes(limit: limit, isDeclared: isDeclared), dropsPart: true)
    }

    /// Accepts or refuses the complete bytes by their size and digests.
    ///
    /// The declared pieces were compared before; `piecesHold` has the result, or nil without
    /// pieces.
    ///
    /// - Parameter digests: the digests of the whole file, one for each declared or sent algorithm
    ///   and sha256.
    mutating func checked(size: Int64, digests: [Digest], piecesHold: Bool? = nil)
        -> TransferAction
    {
        let verification: Verification
        do throws(ResponseError) {
            verification = try bytes.verify(
                size: size, digests: digests, piecesHold: piecesHold, as: file)
        } catch {
            guard error.code == .sizeMismatch else { return wrongBytes(error) }
            return end(error, dropsPart: true)
        }
        guard var answer = bytes.answer else {
            let refusal = ResponseError(.internalError, "bytes without an answer")
            return TransferAction(.fail(failure(refusal)))
        }
        if part?.isSegmented == true { answer = answer.with(ranges: .honoured) }
        return TransferAction(.accept(verification, answer))
    }

    private mutating func wrongBytes(_ refusal: ResponseError) -> TransferAction {
        var refusal = refusal
        if bytes.answer?.mediaType.map(MediaRange.isPage) == true,
            Expectation.refusesHTML(at: file.target, replacing: nil)
        {
            refusal.cause += "; the bytes are a page of HTML, and the network may want a login"
            refusal.mayHeal = true
        }
        // A single bad connection of several, even to one source, may be to blame.
        let isBlameless =
            (part?.isOfOneGo == false || part?.isSegmented == true) && !wasCleaned
            && sources.place == nil
        let source = sources.current
        if !isBlameless || part?.isOfOneGo == true {
            sources.states[source].wrongBodies += 1
        }
        let isOnly = sources.isOnly
        asking.bypassesCaches = isBlameless || isOnly
        guard isBlameless || isOnly && sources.states[source].wrongBodies < 2 else {
            return end(refusal, dropsPart: true)
        }
        if isBlameless { wasCleaned = true }
        let notice = TransferEvent.restart(
            cause: failure(refusal), attempt: requests)
        bytes.drop()
        return TransferAction(request(), dropsPart: true, notice: notice)
    }
}

// MARK: Pauses

extension TransferMachine {
    /// Whether breaking the request off now loses no bytes, because a later request gets the rest.
    ///
    /// - Parameter held: the number of bytes in hand. If no byte is missing, the body ends by
    ///   itself.
    func mayBreakOff(held: Int64) -> Bool {
        if file.isPost { return false }
        guard held > 0, let part, let reception else { return reception == nil || held == 0 }
        return held != knownTotal && reception.allowsRanges
            && mayResume(part, from: sources.current)
    }

    /// Breaks the request off. The next request continues with the `length` bytes in hand.
    mutating func brokenOff(length: Int64?) -> TransferAction {
        progressed(to: length)
        bytes.breakOff()
        return TransferAction(request())
    }
}

// MARK: Failures

extension TransferMachine {
    /// Whether a failure means only that the host may speak another protocol.
    func mayRefuseProtocol(_ failure: TransportFailure) -> Bool {
        bytes.reception == nil && asking.plan.isRefused(by: failure)
    }

    /// Handles a failure of the transport, before a response or amid a body.
    ///
    /// - Parameter length: the present length of the part; nil without a part.
    mutating func interrupted(_ failure: TransportFailure, length: Int64?) -> TransferAction {
        let hasProgressed = progressed(to: length)
        if mayRefuseProtocol(failure) { return askOverAnotherProtocol() }
        bytes.breakOff()
        if failure.isMisplaced, !file.isPost || !failure.wasSent,
            let action = askUnshared()
        {
            return action
        }
        if let check = checkOfAll(length: length) { return check }
        let refusal = ResponseError(failure)
        guard failure.isPassing else { return end(refusal, isRetryable: false) }
        if !hasProgressed, sources.place != nil { return end(refusal, isRetryable: true) }
        guard !file.isPost || !failure.wasSent else {
            return end(refusal, isRetryable: true)
        }
        if let action = failForWaste(refusal) { return action }
        // Another source would have to begin again, and this one has just brought bytes.
        let stays = hasProgressed && (continuesOnlyHere || sources.place != nil)
        // The line worked until the connection broke, so a wait has no purpose.
        let isAtOnce =
            hasProgressed && (stays || failure.code == .connectionLost)
            && file.policy.retries > 0
        var action = retry(refusal, after: nil, isAtOnce: isAtOnce, stays: stays)
        action.waitsForNetwork = true
        return action
    }

    /// Continues after a request without an answer, to a host that answers no other request either.
    ///
    /// The machine moves to the next source first. The time of the next try applies to all
    /// transfers that need the host.
    ///
    /// - Parameter wait: the time until the host is tried again, in milliseconds.
    mutating func unreachable(_ failure: TransportFailure, wait: Int64) -> TransferAction {
        bytes.breakOff()
        let refusal = ResponseError(failure)
        guard !file.isPost || !failure.wasSent else {
            return end(refusal, isRetryable: true)
        }
        return leave(refusal, closedFor: wait)
    }

    /// Ends the source for this run, because its host gave no answer in all of its tries.
    ///
    /// - Parameter wasAsked: whether this transfer's request was the last try. Otherwise the
    ///   request was not made.
    mutating func hostIsDown(
        _ host: String, _ outage: Outage, wasAsked: Bool
    ) -> TransferAction {
        if !wasAsked { asking.takeBack() }
        bytes.breakOff()
        return end(.hostIsDown(host, outage), isRetryable: outage.failure.isPassing)
    }

    /// Ends the current source, which is a place in front of the others and is down for this run.
    ///
    /// - Parameters:
    ///   - failure: how this transfer's own request failed. `nil` means that another transfer's did.
    ///   - wasAsked: whether this transfer's request was made.
    mutating func placeIsDown(
        _ failure: TransportFailure? = nil, wasAsked: Bool = true
    ) -> TransferAction {
        if !wasAsked { asking.takeBack() }
        bytes.breakOff()
        let refusal =
            failure.map(ResponseError.init) ?? ResponseError(.connectionLost, "it is down")
        let place = sources.place
        var action = end(refusal, isRetryable: true)
        action.notice = nil
        action.failedPlace = failure == nil ? nil : place.map { ($0, refusal.cause, true) }
        return action
    }

    /// Ends the source for this run, because its host wants no requests for too long.
    ///
    /// The request was not made.
    mutating func heldOff(seconds: Int64) -> TransferAction {
        asking.takeBack()
        return end(.heldOff(seconds: seconds, file.policy), isRetryable: true)
    }

    /// Ends the source for a reason that mirror found, before or amid the source's bytes.
    ///
    /// - Parameter length: the present length of the part; nil before the source's bytes.
    mutating func refused(_ refusal: ResponseError, length: Int64? = nil) -> TransferAction {
        progressed(to: length)
        bytes.breakOff()
        return checkOfAll(length: length) ?? end(refusal)
    }

    /// Returns the check if a failure came after the last byte.
    ///
    /// Returns nil if bytes are missing, or if no declared digest could prove them.
    ///
    /// Another source could send nothing more. The check comes before the move to it, because the
    /// current source is to blame if the bytes are wrong.
    private func checkOfAll(length: Int64?) -> TransferAction? {
        length != nil && hasAllPinnedBytes ? TransferAction(.check) : nil
    }
}

/// The next step of a transfer, and what the driver does or notes before it.
struct TransferAction: Sendable {
    /// The step itself.
    var next: Next
    /// Whether the driver drops the part before the step.
    var dropsPart: Bool
    /// The event for observers, a retry or a restart; nil without one.
    var notice: TransferEvent?
    /// For how many seconds the server asked that its host get no requests; nil if it did not.
    var hostHold: Int64?
    /// What the transfer learned about the protocols of the requested host; nil without news.
    var protocols: HostProtocols?
    /// Whether the wait follows a lost connection, and ends early when the network comes back.
    var waitsForNetwork = false
    /// Whether the wait is for other credentials of the current source. `renewed` ends the wait.
    var asksCredentials = false
    /// The place in front of the others that failed the transfer, why, and whether it is worth no
    /// further request of the run; nil without one.
    var failedPlace: (place: String, cause: String, isDown: Bool)?

    init(_ next: Next, dropsPart: Bool = false, notice: TransferEvent? = nil) {
        self.next = next
        self.dropsPart = dropsPart
        self.notice = notice
    }

    /// A step of a transfer, and the method of the machine that the driver calls next.
    enum Next: Sendable {
        /// Make the request. `answered` or `interrupted` comes next.
        case request(RequestPlan)
        /// Receive the body. `bodyEnded`, `interrupted` or `exceeded` comes next.
        case receive(Reception)
        /// Wait for this many milliseconds. `waited` comes next.
        case wait(milliseconds: Int64)
        /// Hash the bytes, to compare them with the expectation. `checked` comes next.
        case check
        /// The bytes are the wanted ones. The transfer has ended.
        case accept(Verification, Answer)
        /// The version at the target is the current one. The transfer has ended.
        case confirm(Answer)
        /// No source could give the bytes. The transfer has ended.
        indirect case fail(MirrorError)
    }
}

/// The state of one source in this run.
struct SourceState: Sendable {
    let source: CandidateSource
    /// Why the source is not asked again in this run; nil while it may be asked.
    var ending: MirrorError?
    /// The source's last failure that may pass.
    var lastFailure: MirrorError?
    /// How often a part was dropped because of the source's responses.
    var restarts = 0
    /// How often a part that began with the source's response counted its progress from 0.
    var beginnings = 0
    /// How many wrong whole bodies the source alone sent.
    var wrongBodies = 0
    /// For how many milliseconds the source's host must not be asked, as last reported.
    var closedFor: Int64 = 0
    /// Whether requests to the source leave conditions out.
    var asksPlainly = false
    /// The protocols that the source's host speaks, as far as known.
    var protocols = HostProtocols()

    /// Whether the source answers a range in a way that mirror cannot use.
    var refusesRanges = false
    /// Whether the request under way leaves the range out, because the last request was refused.
    var omitsRange = false

    /// The source's refusal while the transfer waits for other credentials; nil otherwise.
    ///
    /// If no credentials come, the refusal ends the source.
    var awaited: ResponseError?
    /// Whether the transfer has asked for other credentials.
    var hasAskedCredentials = false

    /// Whether the source is asked for ranges.
    var resumes: Bool { restarts < 2 && !refusesRanges && !omitsRange }
}

/// The file that a transfer fetches: what is known of it before the first request.
struct WantedFile: ~Copyable, Sendable {
    let target: Target
    /// Whether the first request is a POST. Its response is never resumed, nor asked for again.
    let isPost: Bool
    let expectation: Expectation
    let policy: TransferPolicy
    /// The version at the target, which a server may confirm; nil for a POST.
    let local: LocalVersion?

    /// Returns the version that the bytes of a response belong to.
    func identity(of reception: Reception) -> PartIdentity {
        if isPost { return .anonymous }
        if let pin = expectation.pin { return .digest(pin) }
        guard let strong = reception.answer.validators.strong else { return .anonymous }
        return .version(reception.answer.provenance, strong)
    }
}
