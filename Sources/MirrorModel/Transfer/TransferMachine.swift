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
package struct TransferMachine: ~Copyable, Sendable {
    let target: Target
    let isPost: Bool
    let expectation: Expectation
    let policy: TransferPolicy
    let local: LocalVersion?
    /// Picks a number from 0 to its argument.
    let jitter: @Sendable (Int64) -> Int64

    var sources: [SourceState]
    /// The position of the source being asked.
    var current = 0
    /// Sources that failed since the last wait.
    var failedInRound: Set<Int> = []
    var ladder = Ladder()
    /// The number of received bytes that were dropped because no request could resume them.
    var wasted: Int64 = 0
    var redirection: Redirection
    var plan: RequestPlan
    var greatestLength: Int64
    var bypassesCaches = false
    /// Whether the one clean download after a mismatch was begun.
    ///
    /// It follows a mismatch for which no single source could be blamed.
    var wasCleaned = false
    /// The sources that requests went to before the current one, in order.
    var left: [Int] = []
    /// The source of the last request; nil before the first.
    var asked: Int?
    /// Whether a length or a final chunk ended the bytes in hand.
    var isFramed = false
    /// The offset at which bytes in hand begin again after the part's length.
    var gapEnd: Int64?

    /// The number of requests so far.
    package private(set) var requests = 0
    /// The part in hand.
    package internal(set) var part: PartState?
    /// The body being received.
    package private(set) var reception: Reception?
    /// The statements of the response that began the bytes in hand.
    package private(set) var answer: Answer?
    /// Digests that servers sent for the bytes in hand.
    package private(set) var sentDigests: [Digest] = []

    /// Takes all that is known before the first request; there is at least one source.
    package init(
        target: Target, sources: [CandidateSource], isPost: Bool = false,
        expectation: Expectation = Expectation(), local: LocalVersion? = nil,
        part: (record: PartRecord, length: Int64)? = nil,
        policy: TransferPolicy = TransferPolicy(),
        jitter: @escaping @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    ) {
        precondition(!sources.isEmpty, "a transfer has at least one source")
        self.target = target
        self.sources = sources.map { SourceState(source: $0) }
        let first = sources[0].url
        self.isPost = isPost
        self.expectation = expectation
        self.local = isPost ? nil : local
        self.policy = policy
        self.jitter = jitter
        redirection = Redirection(url: first, isPost: isPost)
        plan = RequestPlan(RequestDraft(source: 0, url: first))
        greatestLength = part?.length ?? 0
        if let part, part.length > 0, !isPost {
            self.part = PartState(part.record, length: part.length)
            answer = part.record.provenances.first.map { Answer(part.record, provenance: $0) }
        }
    }

    /// The first action.
    package mutating func begin() -> TransferAction {
        if let part, let total = knownTotal, part.length > total {
            self.part = nil
            return TransferAction(request(), dropsPart: true)
        }
        if case .version(let provenance, _) = part?.identity,
            let owner = sources.firstIndex(where: { $0.source.key == provenance.source })
        {
            current = owner
        }
        return TransferAction(request())
    }

    /// Evaluates the head of a response.
    package mutating func answered(_ head: ResponseHead, at now: Instant) -> TransferAction {
        if let action = askAgain(instead: head) { return action }
        let evaluator = ResponseEvaluator(
            plan: plan, source: sources[current].source.key, part: part, local: local,
            expectation: expectation, policy: policy)
        switch evaluator.judge(head, at: now) {
        case .receive(let reception): return receive(reception)
        case .notModified(let answer):
            return TransferAction(.confirm(answer), dropsPart: part != nil)
        case .partIsComplete:
            isFramed = true
            return TransferAction(.check)
        case .startOver(let refusal): return startOver(refusal)
        case .askPlainly:
            sources[current].asksPlainly = true
            return TransferAction(request())
        case .redirect(let location):
            do { try redirection.follow(location: location, status: head.status) } catch {
                return end(error)
            }
            return TransferAction(hop())
        case .retry(let refusal, let after):
            guard !isPost else { return end(refusal, isRetryable: true) }
            return retry(refusal, after: after)
        case .refuse(let refusal): return end(refusal)
        }
    }

    private mutating func receive(_ reception: Reception) -> TransferAction {
        var action = TransferAction(.receive(reception))
        if reception.offset == 0 {
            action.dropsPart = part != nil
            var answer = reception.answer
            if let part, plan.offset > 0, part.length > 0 {
                sources[current].restarts += 1
                let reason = part.reasonToBeginAgain(reception)
                if reason.code == .rangeIgnored { answer = answer.with(ranges: .refused) }
                action.notice = .restart(cause: failure(reason), attempt: requests)
            }
            wasted += part?.length ?? 0
            part = PartState(beginning: reception, identity: identity(of: reception))
            self.answer = answer
            sentDigests = []
        } else {
            part?.total = reception.total
            if part?.provenances.last != reception.answer.provenance {
                part?.provenances.append(reception.answer.provenance)
                part?.isOfOneGo = false
            }
            if plan.ifRange == nil { part?.isOfOneGo = false }
            answer = answer?.continued(by: reception.answer)
        }
        sentDigests += reception.digests.filter { !sentDigests.contains($0) }
        self.reception = reception
        return action
    }

    private func identity(of reception: Reception) -> PartIdentity {
        if isPost { return .anonymous }
        if let pin = expectation.pin { return .digest(pin) }
        guard let strong = reception.answer.validators.strong else { return .anonymous }
        return .version(reception.answer.provenance, strong)
    }

    /// Reacts to a failure of the transport, before a response or amid a body.
    ///
    /// - Parameter length: the present length of the part in hand, where there is one.
    package mutating func interrupted(_ failure: TransportFailure, length: Int64?) -> TransferAction
    {
        let hasProgressed = progressed(to: length)
        if let action = askAgain(instead: failure) { return action }
        reception = nil
        let refusal = Refusal(failure.code, failure.cause)
        guard failure.isPassing else { return end(refusal, isRetryable: false) }
        guard !isPost || !failure.wasSent else { return end(refusal, isRetryable: true) }
        if let action = failForWaste(refusal) { return action }
        // The line worked until the connection broke, so a wait has no purpose.
        let isAtOnce = hasProgressed && failure.code == .connectionLost && policy.retries > 0
        var action = retry(refusal, after: nil, isAtOnce: isAtOnce)
        action.waitsForNetwork = true
        return action
    }

    /// Reacts to a body that ended well; the part in hand is `length` bytes long now.
    package mutating func bodyEnded(length: Int64) -> TransferAction {
        guard let reception else { return TransferAction(.check) }
        isFramed = reception.end != nil || reception.framing == .chunked
        progressed(to: length)
        self.reception = nil
        let end = reception.end ?? (reception.framing == .unbounded ? reception.total : nil)
        if let end, length < end {
            let cut = TransportFailure(
                .connectionLost, "the connection ended after \(length) of \(Counted(end, "byte"))",
                isPassing: true, wasSent: true)
            return interrupted(cut, length: length)
        }
        if let total = reception.total, length < total {
            // A range that ends early is progress; a whole body that ends early is another file.
            if reception.offset > 0 { return TransferAction(request()) }
            return wrongSize(length, total)
        }
        if let total = reception.total, length > total { return wrongSize(length, total) }
        return TransferAction(.check)
    }

    /// Reacts to more bytes than the reception's limit allows.
    package mutating func exceeded(limit: Int64) -> TransferAction {
        let isDeclared = expectation.size != nil || reception?.total != nil
        reception = nil
        let cause =
            isDeclared
            ? "the server sends more than the announced \(Counted(limit, "byte"))"
            : "the file has more than \(Counted(limit, "byte")), which is the limit"
        return end(
            Refusal(isDeclared ? .sizeMismatch : .tooLarge, cause, expected: String(limit)),
            dropsPart: true)
    }

    private mutating func wrongSize(_ length: Int64, _ total: Int64) -> TransferAction {
        let refusal = Refusal(
            .sizeMismatch,
            "the file has \(Counted(length, "byte")), \(total) \(Counted.verb(total, "was", "were")) expected",
            expected: String(total), actual: String(length))
        return end(refusal, dropsPart: true)
    }

    /// Notes the part's length; returns whether it grew enough to count retries from 0 again.
    @discardableResult
    mutating func progressed(to length: Int64?) -> Bool {
        guard let length, part != nil else { return false }
        part?.length = length
        let hasProgressed =
            length >= greatestLength + TransferMachine.progressThatResetsRetries
        if hasProgressed { ladder = Ladder() }
        greatestLength = max(greatestLength, length)
        return hasProgressed
    }

    /// Bytes beyond the part's greatest length after which retries are counted from 0 again.
    ///
    /// A line that breaks all the time is slow, not broken.
    static let progressThatResetsRetries: Int64 = 16 << 10

    /// Ends the source, because its host asked to be left alone for longer than we wait.
    ///
    /// The request was not made.
    package mutating func heldOff(seconds: Int64) -> TransferAction {
        countRequest(-1)
        let refusal = Refusal(
            .retryAfterTooLong,
            "the host asked to be left alone for another \(seconds) s, more than "
                + "\(policy.longestWait) s")
        return end(refusal, isRetryable: true)
    }

    /// Ends the source for a reason found here, before or amid its bytes.
    package mutating func refused(_ refusal: Refusal) -> TransferAction {
        reception = nil
        return end(refusal)
    }

    mutating func countRequest(_ count: Int = 1) { requests += count }

    mutating func forgetReception() { reception = nil }

    mutating func forgetBytes() {
        part = nil
        answer = nil
        sentDigests = []
        reception = nil
        gapEnd = nil
    }
}
