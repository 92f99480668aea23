/// The responses without a body to take that say something about present bytes: 304 and 416.
extension ResponseEvaluator {
    /// Believes a 304 only from the provenance of the validator, and only about that validator.
    func judgeConfirmation(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard let condition = plan.condition else {
            // A cache may have taken the If-Range of a range for a condition.
            return plan.asksRange ? .startOver(status(head)) : .refuse(status(head))
        }
        do { _ = try Framing.judge(head) } catch { return .askPlainly(refusal(head, error)) }
        let owner =
            switch condition {
            case .local: local?.provenance
            case .part: part?.provenances.first
            }
        guard owner == answer.provenance else {
            return .askPlainly(
                Refusal(
                    .malformedResponse, "the server answered 304 for a file of another place",
                    status: 304))
        }
        let tag = answer.validators.entityTag
        if head.has(.entityTag), tag == nil || tag != condition.validators.entityTag {
            return .askPlainly(
                Refusal(
                    .malformedResponse, "the server answered 304 with another ETag", status: 304))
        }
        if condition.validators.entityTag == nil, head.has(.lastModified),
            answer.validators.lastModified != condition.validators.lastModified
        {
            return .askPlainly(
                Refusal(
                    .malformedResponse, "the server answered 304 with another Last-Modified",
                    status: 304))
        }
        switch condition {
        case .local: return .notModified(answer)
        case .part: return .partIsComplete
        }
    }

    /// Takes a 416 as proof of a complete part only when it names the part's length as the whole.
    func judgeUnsatisfied(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        let refusal = Refusal(
            .sourceChanged, "the server has no bytes from \(plan.offset) on", status: 416)
        guard let part, (try? Framing.judge(head)) != nil,
            case .unsatisfied(let total) = head.contentRange, total == part.length
        else { return .startOver(refusal) }
        if let known = expectation.size ?? part.total {
            return known == total ? .partIsComplete : .startOver(refusal)
        }
        // No response gave the length before; the version's own strong tag makes it believable.
        let isSameVersion =
            provenance == part.provenances.first && answer.validators.entityTag != nil
            && plan.ifRange == answer.validators.entityTag.map(StrongValidator.entityTag)
        return isSameVersion ? .partIsComplete : .startOver(refusal)
    }
}
