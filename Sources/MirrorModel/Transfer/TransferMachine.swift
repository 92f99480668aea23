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
/// The rules: a failing source is left for the next one before any wait. A connection that broke
/// after it brought bytes is made again at once. Starting over costs no retry, but happens only
/// twice for each source; then that source is asked without a range. No source sends more than two
/// whole bodies in one run, and bytes that cannot be resumed are received three times at most.
///
/// The machine finds out what an event means. What follows is the course's (`TransferCourse`), with
/// a part for each question: `SourceChoice` who is asked next, `TransferRequests` for what,
/// `BytesInHand` what there is. `BytesVerdict` says whether complete bytes are right.
package struct TransferMachine: ~Copyable, Sendable {
    var course: TransferCourse
    /// Whether the one clean download after a mismatch was begun.
    ///
    /// It follows a mismatch for which no single source could be blamed.
    private(set) var wasCleaned = false

    /// Takes all that is known before the first request; there is at least one source.
    package init(
        target: Target, sources: [CandidateSource], isPost: Bool = false,
        expectation: Expectation = Expectation(), local: LocalVersion? = nil,
        part: (record: PartRecord, length: Int64)? = nil,
        policy: TransferPolicy = TransferPolicy(),
        jitter: @escaping @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    ) {
        precondition(!sources.isEmpty, "a transfer has at least one source")
        course = TransferCourse(
            file: WantedFile(
                target: target, isPost: isPost, expectation: expectation, policy: policy,
                local: isPost ? nil : local),
            sources: SourceChoice(sources, jitter: jitter),
            asking: TransferRequests(at: sources[0].url, isPost: isPost),
            bytes: BytesInHand(part, isPost: isPost))
    }

    /// The number of requests so far.
    package var requests: Int { course.asking.count }

    /// The part in hand.
    package var part: PartState? { course.bytes.part }

    /// The body being received.
    package var reception: Reception? { course.bytes.reception }

    /// Digests that servers sent for the bytes in hand.
    package var sentDigests: [Digest] { course.bytes.sentDigests }

    /// The first action.
    package mutating func begin() -> TransferAction {
        if let part, let total = course.knownTotal, part.length > total {
            course.bytes.dropPart()
            return TransferAction(course.request(), dropsPart: true)
        }
        course.sources.begin(with: part?.identity)
        return TransferAction(course.request())
    }

    /// Continues after a wait; credentials that were waited for did not come.
    package mutating func waited() -> TransferAction {
        course.endRenewal().map { course.end($0) } ?? TransferAction(course.request())
    }

    /// Continues with other credentials, or without any for the reason that is given; nil where the
    /// transfer does not wait for credentials any more.
    package mutating func renewed(without reason: String?) -> TransferAction? {
        guard var refusal = course.endRenewal() else { return nil }
        guard let reason else { return course.renewed(after: refusal) }
        refusal.cause += ", and no other credentials were supplied: \(reason)"
        return course.end(refusal)
    }

    /// Takes how long the sources' hosts must not be asked, in milliseconds, in the sources' order.
    package mutating func know(closedFor: [Int64]) { course.sources.know(closedFor: closedFor) }

    /// Takes what is known of the protocols that a source's host speaks.
    package mutating func know(_ protocols: HostProtocols, of source: Int) {
        course.sources.states[source].protocols.learn(protocols)
    }

    /// The next request, over a protocol that its host speaks by what other transfers have found since
    /// it was decided.
    package mutating func adapted(to protocols: HostProtocols) -> RequestPlan {
        know(protocols, of: course.asking.plan.source)
        return course.asking.setProtocol(course.sources, isPost: course.file.isPost)
    }
}

// MARK: Responses

extension TransferMachine {
    /// Evaluates the head of a response.
    package mutating func answered(_ head: ResponseHead, at now: Instant) -> TransferAction {
        if course.asking.plan.isRefused(by: head.status) { return course.askOverAnotherProtocol() }
        // The connection is another host's: a connection of its own leads to the right one.
        if head.status == 421, !course.file.isPost, let action = course.askUnshared() {
            return action
        }
        let omitsRange = course.sources.endOmission()
        let evaluator = ResponseEvaluator(
            plan: course.asking.plan, source: course.sources.key, part: part,
            local: course.file.local, expectation: course.file.expectation,
            policy: course.file.policy, target: course.file.target)
        switch evaluator.judge(head, at: now) {
        case .receive(let reception): return receive(reception, omitsRange: omitsRange)
        case .notModified(let answer):
            return TransferAction(.confirm(answer), dropsPart: part != nil)
        case .partIsComplete:
            course.bytes.complete()
            return TransferAction(.check)
        case .startOver(let refusal): return course.startOver(refusal)
        case .askPlainly:
            course.sources.states[course.sources.current].asksPlainly = true
            return TransferAction(course.request())
        case .askWhole(let refusal): return course.askWhole(refusal)
        case .askWithoutRange:
            course.sources.states[course.sources.current].omitsRange = true
            return TransferAction(course.request())
        case .askUnshared(let refusal): return course.askUnshared() ?? course.end(refusal)
        case .redirect(let location):
            do { try course.asking.follow(head, to: location, at: now) } catch {
                return course.end(error)
            }
            return TransferAction(course.hop())
        case .retry(let refusal, let after):
            guard !course.file.isPost else { return course.end(refusal, isRetryable: true) }
            return course.retry(refusal, after: after)
        case .refuse(let refusal) where refusal.status == 401: return course.askCredentials(refusal)
        case .refuse(let refusal): return course.end(refusal)
        }
    }

    private mutating func receive(_ reception: Reception, omitsRange: Bool) -> TransferAction {
        var action = TransferAction(.receive(reception))
        if reception.isRange {
            course.bytes.continue(reception, isGuarded: course.asking.plan.ifRange != nil)
            return action
        }
        action.dropsPart = part != nil
        var answer = reception.answer
        if let part, course.asking.plan.asksRange || omitsRange {
            course.sources.states[course.sources.current].restarts += 1
            if omitsRange { course.sources.states[course.sources.current].refusesRanges = true }
            let reason = part.reasonToBeginAgain(reception)
            if reason.code == .rangeIgnored { answer = answer.with(ranges: .refused) }
            action.notice = .restart(cause: course.failure(reason), attempt: requests)
        }
        let identity =
            reception.isDoubtful ? PartIdentity.anonymous : course.file.identity(of: reception)
        course.begin(reception, identity: identity, answer: answer)
        return action
    }
}

// MARK: Bodies

extension TransferMachine {
    /// Reacts to a body that ended well; the part in hand is `length` bytes long now.
    ///
    /// - Parameter isCut: whether the connection of TLS ended without close_notify. Then the server may
    ///   not have ended a body without a length (RFC 9112 §9.8).
    package mutating func bodyEnded(length: Int64, isCut: Bool = false) -> TransferAction {
        guard let reception else { return TransferAction(.check) }
        if isCut, reception.framing == .unbounded, course.lacksProofOfLength {
            return interrupted(.cutUnseen(at: length), length: length)
        }
        if reception.isDoubtful, let total = reception.total, length != total {
            return course.askWhole(.wrongLength(length, of: total))
        }
        let end = reception.end ?? (reception.framing == .unbounded ? reception.total : nil)
        if let end, length < end {
            return interrupted(.cutShort(at: length, of: end), length: length)
        }
        course.progressed(to: length)
        course.bytes.endBody(isFramed: reception.end != nil || reception.framing == .chunked)
        guard let total = reception.total, length != total else { return TransferAction(.check) }
        // A range that ends early is progress; a whole body that ends early is another file.
        if length < total, reception.isRange {
            return course.continueRange(from: reception, length: length)
        }
        return course.end(.wrongLength(length, of: total), dropsPart: true)
    }

    /// Reacts to more bytes than the reception's limit allows.
    package mutating func exceeded(limit: Int64) -> TransferAction {
        let isDeclared = course.file.expectation.size != nil || reception?.total != nil
        course.bytes.breakOff()
        return course.end(.tooManyBytes(limit: limit, isDeclared: isDeclared), dropsPart: true)
    }

    /// Decides about the hashed bytes; declared pieces were compared with their digests.
    ///
    /// - Parameter digests: the digests of the whole file, one for each declared or sent algorithm
    ///   and sha256.
    package mutating func checked(size: Int64, digests: [Digest], piecesHold: Bool? = nil)
        -> TransferAction
    {
        let verdict = BytesVerdict(
            size: size, digests: digests, piecesHold: piecesHold, of: course.file, course.bytes)
        switch verdict {
        case .wrongSize(let refusal): return course.end(refusal, dropsPart: true)
        case .wrongDigest(let refusal): return wrongBytes(refusal)
        case .right(let verification):
            guard var answer = course.bytes.answer else {
                let refusal = Refusal(.internalError, "bytes without an answer")
                return TransferAction(.fail(course.failure(refusal)))
            }
            if part?.isSegmented == true { answer = answer.with(ranges: .honoured) }
            return TransferAction(.accept(verification, answer))
        }
    }

    private mutating func wrongBytes(_ refusal: Refusal) -> TransferAction {
        var refusal = refusal
        if course.bytes.answer?.mediaType.map(MediaRange.isPage) == true,
            Expectation.refusesHTML(at: course.file.target, replacing: nil)
        {
            refusal.cause += "; the bytes are a page of HTML, and the network may want a login"
            refusal.mayHeal = true
        }
        // A single bad connection of several, even to one source, may be to blame.
        let isBlameless = (part?.isOfOneGo == false || part?.isSegmented == true) && !wasCleaned
        let source = course.sources.current
        if !isBlameless || part?.isOfOneGo == true {
            course.sources.states[source].wrongBodies += 1
        }
        let isOnly = course.sources.states.count == 1
        course.asking.bypassesCaches = isBlameless || isOnly
        guard isBlameless || isOnly && course.sources.states[source].wrongBodies < 2 else {
            return course.end(refusal, dropsPart: true)
        }
        if isBlameless { wasCleaned = true }
        let notice = TransferAction.Notice.restart(
            cause: course.failure(refusal), attempt: requests)
        course.bytes.drop()
        return TransferAction(course.request(), dropsPart: true, notice: notice)
    }
}

// MARK: Pauses

extension TransferMachine {
    /// Whether a request that is broken off now loses nothing: a later one gets the rest.
    ///
    /// - Parameter held: the number of bytes in hand. If none is missing, the body ends by itself.
    package func mayBreakOff(held: Int64) -> Bool {
        if course.file.isPost { return false }
        guard held > 0, let part, let reception else { return reception == nil || held == 0 }
        return held != course.knownTotal && reception.allowsRanges
            && course.mayResume(part, from: course.sources.current)
    }

    /// Breaks the request off; the next one continues with the `length` bytes in hand.
    package mutating func brokenOff(length: Int64?) -> TransferAction {
        course.progressed(to: length)
        course.bytes.breakOff()
        return TransferAction(course.request())
    }
}

// MARK: Failures

extension TransferMachine {
    /// Whether a failure says only that the host may speak another protocol.
    package func mayRefuseProtocol(_ failure: TransportFailure) -> Bool {
        course.bytes.reception == nil && course.asking.plan.isRefused(by: failure)
    }

    /// Reacts to a failure of the transport, before a response or amid a body.
    ///
    /// - Parameter length: the present length of the part in hand, where there is one.
    package mutating func interrupted(_ failure: TransportFailure, length: Int64?) -> TransferAction
    {
        let hasProgressed = course.progressed(to: length)
        if mayRefuseProtocol(failure) { return course.askOverAnotherProtocol() }
        course.bytes.breakOff()
        if failure.isMisplaced, !course.file.isPost || !failure.wasSent,
            let action = course.askUnshared()
        {
            return action
        }
        if let check = checkOfAll(length: length) { return check }
        let refusal = Refusal(failure.code, failure.cause)
        guard failure.isPassing else { return course.end(refusal, isRetryable: false) }
        guard !course.file.isPost || !failure.wasSent else {
            return course.end(refusal, isRetryable: true)
        }
        if let action = course.failForWaste(refusal) { return action }
        // Another source would have to begin again, and this one has just brought bytes.
        let stays = hasProgressed && course.continuesOnlyHere
        // The line worked until the connection broke, so a wait has no purpose.
        let isAtOnce =
            hasProgressed && (stays || failure.code == .connectionLost)
            && course.file.policy.retries > 0
        var action = course.retry(refusal, after: nil, isAtOnce: isAtOnce, stays: stays)
        action.waitsForNetwork = true
        return action
    }

    /// Continues after a request without an answer, to a host that answers no one else either.
    ///
    /// The time of the next try applies to all transfers that need the host. The next source comes
    /// first.
    ///
    /// - Parameter wait: the time until the host is tried again, in milliseconds.
    package mutating func unreachable(_ failure: TransportFailure, wait: Int64) -> TransferAction {
        course.bytes.breakOff()
        let refusal = Refusal(failure.code, failure.cause)
        guard !course.file.isPost || !failure.wasSent else {
            return course.end(refusal, isRetryable: true)
        }
        return course.leave(refusal, closedFor: wait)
    }

    /// Moves to another source, because the host does not answer and the request was not made.
    ///
    /// Returns nil when no other source is left, and the transfer has to wait for the host.
    package mutating func elsewhere() -> TransferAction? { course.moveElsewhere() }

    /// Ends the source, because its host gave no answer in a whole ladder of tries.
    ///
    /// - Parameter wasAsked: whether this transfer's request was the last try; otherwise it was not
    ///   made.
    package mutating func hostIsDown(
        _ host: String, _ outage: Outage, wasAsked: Bool
    ) -> TransferAction {
        if !wasAsked { course.asking.takeBack() }
        course.bytes.breakOff()
        return course.end(.hostIsDown(host, outage), isRetryable: outage.failure.isPassing)
    }

    /// Ends the source, because its host asked to be left alone for longer than we wait.
    ///
    /// The request was not made.
    package mutating func heldOff(seconds: Int64) -> TransferAction {
        course.asking.takeBack()
        return course.end(.heldOff(seconds: seconds, course.file.policy), isRetryable: true)
    }

    /// Ends the source for a reason found here, before or amid its bytes.
    ///
    /// - Parameter length: the present length of the part in hand; nil before the source's bytes.
    package mutating func refused(_ refusal: Refusal, length: Int64? = nil) -> TransferAction {
        course.progressed(to: length)
        course.bytes.breakOff()
        return checkOfAll(length: length) ?? course.end(refusal)
    }

    /// The check of bytes that a failure ended when none was missing; nil where some are.
    ///
    /// Another source could send nothing. The check comes before the move to it, because this source
    /// is to blame if the bytes are wrong.
    private func checkOfAll(length: Int64?) -> TransferAction? {
        length != nil && course.hasAllPinnedBytes ? TransferAction(.check) : nil
    }
}

/// The next step of a transfer, and whether it keeps its part.
package struct TransferAction: Sendable {
    /// The next step.
    package var next: Next
    /// Whether the part in hand is dropped first.
    package var dropsPart: Bool
    /// The notice for an observer, where there is one.
    package var notice: Notice?
    /// The time for which the server asked that its host be left alone, in seconds.
    package var hostHold: Int64?
    /// What was learned about the protocols of the requested host.
    package var protocols: HostProtocols?
    /// Whether the wait follows a lost connection, and ends early when the network comes back.
    package var waitsForNetwork = false
    /// Whether the wait is for other credentials of the current source, which come as `renewed`.
    package var asksCredentials = false

    init(_ next: Next, dropsPart: Bool = false, notice: Notice? = nil) {
        self.next = next
        self.dropsPart = dropsPart
        self.notice = notice
    }

    /// A step of a transfer.
    package enum Next: Sendable {
        /// Make a request; `answered` or `interrupted` comes next.
        case request(RequestPlan)
        /// Receive the body; `bodyEnded`, `interrupted` or `exceeded` comes next.
        case receive(Reception)
        /// Wait for a number of milliseconds; `waited` comes next.
        case wait(milliseconds: Int64)
        /// Compare the bytes with the expectation; `checked` comes next.
        case check
        /// The bytes are the wanted ones: the end.
        case accept(Verification, Answer)
        /// The version at the target is the current one: the end.
        case confirm(Answer)
        /// No source could give the bytes: the end.
        indirect case fail(MirrorError)
    }

    /// An event for observers that does not end the transfer.
    package indirect enum Notice: Sendable {
        /// A passing failure; the next request is made after `waitMilliseconds`.
        case retry(
            cause: MirrorError, attempt: Int, waitMilliseconds: Int64, tries: RetryTries? = nil)
        /// The bytes so far are dropped.
        case restart(cause: MirrorError, attempt: Int)
    }
}

/// The state of one source in this run.
struct SourceState: Sendable {
    let source: CandidateSource
    /// Why it is not asked again.
    var ending: MirrorError?
    /// Its last passing failure.
    var lastFailure: MirrorError?
    /// How often a part was dropped because of its responses.
    var restarts = 0
    /// How often the progress of a part that began with its response was counted from 0.
    var beginnings = 0
    /// The number of whole bodies that it alone sent, and that were wrong.
    var wrongBodies = 0
    /// For how many milliseconds its host must not be requested, as last reported.
    var closedFor: Int64 = 0
    /// Whether its requests leave conditions out.
    var asksPlainly = false
    /// The protocols that its host speaks, as far as it is known.
    var protocols = HostProtocols()

    /// Whether it answers a range in a way that cannot be used.
    var refusesRanges = false
    /// Whether the request under way leaves the range out, because the one before was refused.
    var omitsRange = false

    /// What became of its credentials, once it had refused them.
    var renewal = Renewal.none

    enum Renewal: Sendable {
        case none
        /// Others are asked for, and if there are none, this is its ending.
        indirect case awaited(Refusal)
        case over
    }

    /// Whether it is asked for ranges.
    var resumes: Bool { restarts < 2 && !refusesRanges && !omitsRange }
}

/// The file that a transfer is to fetch: what is known of it before the first request.
struct WantedFile: ~Copyable, Sendable {
    let target: Target
    /// Whether the first request is a POST; its response is never resumed, nor asked for again.
    let isPost: Bool
    let expectation: Expectation
    let policy: TransferPolicy
    /// The version at the target, which a server may confirm; nil for a POST.
    let local: LocalVersion?

    /// The version that the bytes of a response belong to.
    func identity(of reception: Reception) -> PartIdentity {
        if isPost { return .anonymous }
        if let pin = expectation.pin { return .digest(pin) }
        guard let strong = reception.answer.validators.strong else { return .anonymous }
        return .version(reception.answer.provenance, strong)
    }
}
