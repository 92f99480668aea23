/// The answers without a body for us that say something of the bytes we have: 304 and 416.
extension ResponseEvaluator {
    /// A 304 is believed from the provenance that the validator belongs to, about that validator.
    func judgeConfirmation(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        guard let condition = plan.condition else { return .refuse(status(head)) }
        do { _ = try Framing.judge(head) } catch { return .askPlainly(refusal(head, error)) }
        let owner =
            switch condition {
            case .local: local?.provenance
            case .part: part?.provenances.first
            }
        guard owner == provenance else {
            return .askPlainly(
                Refusal(
                    .malformedResponse, "the server answered 304 for a file of another place",
                    status: 304))
        }
        let tag = head.single(.entityTag).flatMap(EntityTag.init)
        if head.has(.entityTag), tag == nil || tag != condition.validators.entityTag {
            return .askPlainly(
                Refusal(
                    .malformedResponse, "the server answered 304 with another ETag", status: 304))
        }
        switch condition {
        case .local: return .notModified(answer)
        case .part: return .partIsComplete
        }
    }

    /// A 416 says that the part is complete only when it names the part's length as the whole.
    func judgeUnsatisfied(_ head: ResponseHead, _ answer: Answer) -> ResponseEvaluation {
        let refusal = Refusal(
            .sourceChanged, "the server has no bytes from \(plan.offset) on", status: 416)
        guard let part, (try? Framing.judge(head)) != nil,
            case .unsatisfied(let total) = head.contentRange, total == part.length
        else { return .startOver(refusal) }
        if let known = expectation.size ?? part.total {
            return known == total ? .partIsComplete : .startOver(refusal)
        }
        // The length was never said before; the version's own strong tag makes it believable.
        let isSameVersion =
            provenance == part.provenances.first && answer.validators.entityTag != nil
            && plan.ifRange == answer.validators.entityTag.map(StrongValidator.entityTag)
        return isSameVersion ? .partIsComplete : .startOver(refusal)
    }
}
