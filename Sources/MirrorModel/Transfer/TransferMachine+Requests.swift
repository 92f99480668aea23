/// The choice of the next request.
extension TransferMachine {
    /// The size of the whole file, as declared or as promised by the part's response.
    var knownTotal: Int64? { expectation.size ?? part?.total }

    /// A new request to the current source, or the check of a part that needs no request.
    mutating func request() -> TransferAction.Next {
        if let part, part.length == knownTotal, isPinned(part) { return .check }
        redirection = Redirection(url: sources[current].source.url, isPost: isPost)
        return hop()
    }

    /// The same request at the place that redirects have led to.
    mutating func hop() -> TransferAction.Next {
        plan = makePlan()
        if plan.url.scheme != .file { countRequest() }
        if let asked, asked != current { left.append(asked) }
        asked = current
        return .request(plan)
    }

    private func makePlan() -> RequestPlan {
        var plan = RequestDraft(source: current, url: redirection.url)
        plan.isPost = redirection.isPost
        plan.carriesCredentials = !redirection.hasLeftOrigin
        plan.bypassesCaches = bypassesCaches
        if !isPost { setConditions(of: &plan) }
        plan.expectedBytes = (plan.end ?? knownTotal ?? local?.size).map { $0 - plan.offset }
        let missing = (plan.end ?? knownTotal ?? 0) - plan.offset
        plan.isLong = isLong(missing, plan)
        return RequestPlan(plan)
    }

    /// Sets the range and the versions that a request is about.
    private func setConditions(of plan: inout RequestDraft) {
        let asksPlainly = sources[current].asksPlainly
        if let part, let first = part.provenances.first, part.length > 0,
            sources[current].resumes
        {
            let isOwner = isCurrent(first.source)
            if part.length == knownTotal, !isPinned(part) {
                if isOwner, !asksPlainly, mayTell(first) {
                    plan.condition = .part(part.validators)
                }
                return
            }
            let isGuarded = isOwner && mayTell(first) && part.validators.strong != nil
            // A download that must be clean continues only under the version's own validator.
            if isGuarded && part.identity != .anonymous || isPinned(part) && !bypassesCaches {
                plan.offset = part.length
                if let gapEnd, gapEnd > part.length, gapEnd < knownTotal ?? 0 { plan.end = gapEnd }
                if isGuarded { plan.ifRange = part.validators.strong }
            }
        }
        if !asksPlainly, let local, let provenance = local.provenance, local.isConfirmable,
            isCurrent(provenance.source), mayTell(provenance)
        {
            plan.condition = .local(local.validators)
        }
    }

    /// Whether a key is that of the source being asked.
    private func isCurrent(_ key: SourceKey) -> Bool { key == sources[current].source.key }

    /// Whether a validator may be sent: only to its source, and to the place that answered it.
    private func mayTell(_ provenance: Provenance) -> Bool {
        redirection.hops == 0 || provenance.answeredBy == redirection.url.withoutSecrets
    }

    func isPinned(_ part: PartState) -> Bool {
        if case .digest(let digest) = part.identity {
            expectation.digests.contains(digest)
        } else {
            false
        }
    }

    /// Continues after a wait.
    package mutating func waited() -> TransferAction { TransferAction(request()) }

    /// Drops the part, and asks the same source anew; no retry is spent.
    mutating func startOver(_ refusal: Refusal) -> TransferAction {
        sources[current].restarts += 1
        let notice = TransferAction.Notice.restart(cause: failure(refusal), attempt: requests)
        forgetBytes()
        return TransferAction(request(), dropsPart: true, notice: notice)
    }
}

extension Validators {
    /// Whether there is a validator to send as a condition.
    var isUsableAsCondition: Bool { entityTag != nil || lastModified != nil }
}
