/// The state machine of a further connection, from its request to its range's bytes, without I/O.
///
/// A further connection can only help. After any failure its range is given back, and the
/// transfer's own machine continues.
///
/// The rules of every range apply to its bytes (`ResponseEvaluator`), and three more:
///
/// - The bytes lie within the requested range.
/// - Their file has the known size.
/// - Without a pin, they come under the strong validator of the transfer's first response.
struct SegmentMachine: Sendable {
    /// The next request.
    private(set) var plan: RequestPlan
    private let source: SourceKey
    private let part: PartState
    private let range: Range<Int64>
    private let expectation: Expectation
    private let policy: TransferPolicy
    private var redirection: Redirection

    /// What the transfer does after a response.
    enum Action: Sendable {
        /// The body is the range, or the beginning of the range.
        case receive(Reception)
        /// The response redirects. The next request goes to the new URL.
        case follow
        /// The range is given back, and the host gets no requests for `hold` seconds.
        ///
        /// `nil` means that the host did not ask for a wait.
        case giveBack(ResponseError, hold: Int64?)
        /// The source has another version now. The whole transfer starts over.
        case changed(ResponseError)
    }

    init(
        source: CandidateSource, plan: RequestPlan, part: PartState, range: Range<Int64>,
        expectation: Expectation, policy: TransferPolicy
    ) {
        self.source = source.key
        self.plan = plan
        self.range = range
        self.expectation = expectation
        self.policy = policy
        redirection = Redirection(url: plan.url, isPost: false)
        var part = part
        part.length = range.lowerBound
        self.part = part
    }

    /// Evaluates the head of a response.
    mutating func answered(_ head: ResponseHead, at now: Instant) -> Action {
        let evaluator = ResponseEvaluator(
            plan: plan, source: source, part: part, expectation: expectation, policy: policy)
        if let change = change(head, evaluator) { return .changed(change) }
        switch evaluator.judge(head, at: now) {
        case .receive(let reception):
            // A 200 carries the file to its end, so its bytes go beyond the range.
            guard reception.isRange else {
                return .giveBack(evaluator.status(head), hold: nil)
            }
            guard let end = reception.end, end <= range.upperBound else {
                let refusal = ResponseError(
                    .malformedResponse, "the server sent another range than it was asked for")
                return .giveBack(refusal, hold: nil)
            }
            return .receive(reception)
        case .redirect(let location):
            do { try redirection.follow(head, to: location, at: now) } catch {
                return .giveBack(error, hold: nil)
            }
            // Without a pin, only the URL that answered first can vouch for the version.
            guard plan.ifRange == nil else {
                return .giveBack(evaluator.status(head), hold: nil)
            }
            plan.url = redirection.url
            plan.carriesCredentials = plan.carriesCredentials && !redirection.hasLeftOrigin
            plan.cookie = redirection.cookie
            return .follow
        case .retry(let refusal, let after): return .giveBack(refusal, hold: after)
        case .startOver(let refusal), .askPlainly(let refusal), .askWhole(let refusal),
            .askWithoutRange(let refusal), .askUnshared(let refusal), .refuse(let refusal):
            return .giveBack(refusal, hold: nil)
        case .notModified, .partIsComplete: return .giveBack(evaluator.status(head), hold: nil)
        }
    }

    /// Returns why a response shows another version than the part's. Returns nil if it shows none.
    ///
    /// Only the part's own source can show a change. Under a pin, the digest decides which version
    /// is wanted.
    private func change(
        _ head: ResponseHead, _ evaluator: borrowing ResponseEvaluator
    ) -> ResponseError? {
        guard case .version(let provenance, let strong) = part.identity,
            provenance == evaluator.provenance, (try? Framing.judge(head)) != nil
        else { return nil }
        var total: Int64?
        switch head.status {
        case 200:
            let sent = Validators(of: head)
            // The body may be only the range, and then says nothing about another version.
            if head.has(.contentRange) || sent.isEmpty || sent.repeats(strong) { return nil }
            if let sent = sent.strong, sent != strong {
                return ResponseError(
                    .sourceChanged, "the file changed at its source: its validator is another",
                    status: head.status)
            }
            total = (try? Framing.judge(head))?.length
        case 206:
            guard case .bytes(_, _, let sent) = head.contentRange else { return nil }
            total = sent
        default: return nil
        }
        guard let total, let known = expectation.size ?? part.total, total != known else {
            return nil
        }
        return ResponseError(
            .sourceChanged,
            "the file changed at its source: its size is now \(total), not \(known)",
            status: head.status)
    }
}

// MARK: More connections for the bytes in hand

extension TransferMachine {
    /// Notes that a further connection added bytes to the part.
    mutating func joined(by provenance: Provenance) { bytes.join(provenance) }

    /// Continues when the further connections have ended; the part has `length` bytes.
    mutating func segmentsEnded(length: Int64) -> TransferAction {
        progressed(to: length)
        bytes.breakOff()
        guard length == knownTotal else { return askForMissing() }
        bytes.complete()
        return TransferAction(.check)
    }

    /// Starts over, because a further connection found another version at the source.
    mutating func versionChanged(_ refusal: ResponseError) -> TransferAction {
        startOver(refusal)
    }

    /// Notes where the gap after the part ends. The next range ends there.
    ///
    /// `nil` means that no bytes beyond the part are in hand.
    mutating func know(gapEnd: Int64?) { bytes.know(gapEnd: gapEnd) }
}

extension TransferMachine {
    /// The positions of the sources that may fetch ranges of the part, the current source first.
    ///
    /// Ranges are joined only if their size is known and a pin or a strong validator vouches for
    /// them. A strong validator allows only its own source. The list is empty in the clean download
    /// after a mismatch.
    var segmentSources: [Int] {
        let current = sources.current
        guard !wasCleaned, !file.isPost, !asking.bypassesCaches, let reception = bytes.reception,
            let part = bytes.part, reception.allowsRanges, knownTotal != nil,
            asking.plan.url.scheme != .file
        else { return [] }
        let own = sources.givesRanges(current) ? [current] : []
        switch part.identity {
        case .version(let provenance, _):
            return reception.answer.provenance == provenance ? own : []
        case .digest: return part.isPinned(by: file) ? own + sources.othersThatGiveRanges : []
        case .anonymous: return []
        }
    }

    /// Returns the request for a range of the part. Returns nil if nothing vouches for the answer.
    func segment(of range: Range<Int64>, from position: Int) -> SegmentMachine? {
        guard let part = bytes.part else { return nil }
        let source = sources.states[position].source
        // The current source is asked at the URL that answered; others at their own URLs.
        var plan = RequestPlan(source: position, url: source.url)
        let last = asking.plan
        if position == last.source {
            (plan.url, plan.relatives) = (last.url, last.relatives)
            plan.carriesCredentials = last.carriesCredentials
            plan.cookie = last.cookie
        }
        plan.offset = range.lowerBound
        plan.end = range.upperBound
        TransferRequests.setProtocol(
            of: &plan, missing: knownTotal ?? 0, sources, isPost: file.isPost)
        let provenance = Provenance(source: source.key, answeredBy: plan.url.withoutSecrets)
        if part.provenances.first == provenance { plan.ifRange = part.validators.strong }
        if case .version = part.identity, plan.ifRange == nil { return nil }
        return SegmentMachine(
            source: source, plan: plan, part: part, range: range,
            expectation: file.expectation, policy: file.policy)
    }

    /// Asks for the bytes that no further connection could fetch.
    ///
    /// A source without ranges would send the whole file for them, so bytes would come twice. For
    /// that reason another source is asked first, and asking the same source again costs a retry.
    mutating func askForMissing() -> TransferAction {
        guard sources.givesRanges(sources.current) else {
            return retry(
                ResponseError(.rangeIgnored, "the server gives no ranges, and bytes are missing"),
                after: nil)
        }
        return TransferAction(request())
    }
}
