/// The requests of a transfer: where redirects have led, and what the next request asks for.
///
/// The range and the conditions of a request follow from the bytes in hand and from the source. A
/// validator goes only to the source and URL that it came from.
struct TransferRequests: ~Copyable, Sendable {
    /// The plan of the present request, whether or not the driver has made it.
    private(set) var plan: RequestPlan
    /// The number of requests so far.
    private(set) var count = 0
    /// Whether requests make caches on the way check with the origin.
    var bypassesCaches = false
    private var redirection: Redirection

    init(at url: SourceURL, isPost: Bool) {
        redirection = Redirection(url: url, isPost: isPost)
        plan = RequestPlan(source: 0, url: url)
    }

    /// Makes the next request begin at the URL of the current source.
    mutating func restart(at sources: borrowing SourceChoice, isPost: Bool) {
        redirection = Redirection(url: sources.states[sources.current].source.url, isPost: isPost)
    }

    /// Makes the next request go to where a redirect leads. Throws if the redirect is refused.
    mutating func follow(
        _ head: ResponseHead, to location: String, at now: Instant
    ) throws(ResponseError) {
        try redirection.follow(head, to: location, at: now)
    }

    /// Plans the next request, and counts it unless the source is a local file.
    mutating func next(
        to sources: borrowing SourceChoice, for file: borrowing WantedFile,
        after bytes: borrowing BytesInHand
    ) -> RequestPlan {
        plan = makePlan(sources, file, bytes)
        if plan.url.scheme != .file { count += 1 }
        return plan
    }

    /// Chooses the protocol of the next request again, from what is known now.
    mutating func setProtocol(_ sources: borrowing SourceChoice, isPost: Bool) -> RequestPlan {
        let missing = plan.expectedBytes ?? 0
        TransferRequests.setProtocol(of: &plan, missing: missing, sources, isPost: isPost)
        return plan
    }

    /// Uncounts the last request, because it was not made.
    mutating func takeBack() { if plan.url.scheme != .file { count -= 1 } }

    /// Chooses the protocol of a request that asks for `missing` bytes.
    ///
    /// Without TLS no protocol is negotiated, so there is no choice. A POST uses HTTP/1.1 for two
    /// reasons. Only there the end of an answer without a length can be told from a cut. And a POST
    /// cannot be made again elsewhere.
    static func setProtocol(
        of plan: inout RequestPlan, missing: Int64, _ sources: borrowing SourceChoice,
        isPost: Bool
    ) {
        let protocols = sources.states[plan.source].protocols
        let isLong = missing >= RequestPlan.leastLong && plan.condition == nil
        plan.usesHTTP1 =
            plan.url.scheme == .https && !protocols.refusesHTTP1
            && (isLong || isPost || protocols.forbidsSharing)
        plan.isAlone = protocols.isAlone
    }

    private func makePlan(
        _ sources: borrowing SourceChoice, _ file: borrowing WantedFile,
        _ bytes: borrowing BytesInHand
    ) -> RequestPlan {
        let total = bytes.total(of: file)
        var plan = RequestPlan(source: sources.current, url: redirection.url)
        if redirection.hops == 0 {
            plan.relatives = sources.states[sources.current].source.relatives
        }
        plan.isPost = redirection.isPost
        plan.carriesCredentials = !redirection.hasLeftOrigin
        plan.cookie = redirection.cookie
        plan.bypassesCaches = bypassesCaches
        if !file.isPost { setConditions(of: &plan, sources, file, bytes) }
        plan.expectedBytes = (plan.end ?? total ?? file.local?.size).map { $0 - plan.offset }
        let missing = (plan.end ?? total ?? 0) - plan.offset
        TransferRequests.setProtocol(of: &plan, missing: missing, sources, isPost: file.isPost)
        return plan
    }

    /// Sets the range of a request, and the conditions on the version.
    private func setConditions(
        of plan: inout RequestPlan, _ sources: borrowing SourceChoice,
        _ file: borrowing WantedFile, _ bytes: borrowing BytesInHand
    ) {
        let asksPlainly = sources.states[sources.current].asksPlainly
        let total = bytes.total(of: file)
        let gapEnd = bytes.gapEnd(in: total)
        if let part = bytes.part, let first = part.provenances.first,
            part.length > 0 || gapEnd != nil, sources.states[sources.current].resumes
        {
            let isPinned = part.isPinned(by: file)
            let isOwner = first.source == sources.key
            if part.length == total, !isPinned {
                if isOwner, !asksPlainly, mayTell(first) {
                    plan.condition = .part(part.validators)
                }
                return
            }
            let isGuarded = isOwner && mayTell(first) && part.validators.strong != nil
            // A download that must be clean continues only under the version's own validator.
            if isGuarded && part.identity != .anonymous || isPinned && !bypassesCaches {
                plan.offset = part.length
                plan.end = gapEnd
                // A pin vouches for the bytes of places that have validators of their own.
                let isOfPlace =
                    !isPinned || plan.relatives.isEmpty
                    || first.answeredBy == redirection.url.withoutSecrets
                if isGuarded, isOfPlace { plan.ifRange = part.validators.strong }
            }
        }
        if !asksPlainly, let local = file.local, let provenance = local.provenance,
            local.isConfirmable,
            provenance.source == sources.key, mayTell(provenance)
        {
            plan.condition = .local(local.validators)
        }
    }

    /// Whether a validator may be sent: only to its source, at the URL that answered with it.
    private func mayTell(_ provenance: Provenance) -> Bool {
        redirection.hops == 0 || provenance.answeredBy == redirection.url.withoutSecrets
    }
}
