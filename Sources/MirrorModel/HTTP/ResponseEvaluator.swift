/// What an answer means for a transfer, given what was asked: the one place that decides it.
package enum ResponseEvaluation: Sendable, Hashable {
    /// The body is taken.
    case receive(Reception)
    /// The version at the target is the current one.
    case notModified(Answer)
    /// The part in hand has all bytes of the current version.
    case partIsComplete
    /// The part cannot be continued with this answer: it is dropped, and the file asked for anew.
    case startOver(Refusal)
    /// The confirmation cannot be believed: the file is asked for without a condition.
    case askPlainly(Refusal)
    /// The bytes are elsewhere.
    case redirect(location: String)
    /// A passing failure, with the seconds that the server asks for.
    case retry(Refusal, after: Int64?)
    /// The source has nothing for us in this run.
    case refuse(Refusal)
}

/// Why an answer is not taken, as the middle of a sentence and for scripts.
package struct Refusal: Sendable, Hashable, Error {
    /// The kind of failure.
    package var code: FailureCode
    /// What is wrong, e.g. `the server answered 404`.
    package var cause: String
    /// The status of the answer.
    package var status: Int?
    /// What was declared or known.
    package var expected: String?
    /// What was found instead.
    package var actual: String?

    /// Takes a code and a cause.
    package init(
        _ code: FailureCode, _ cause: String, status: Int? = nil, expected: String? = nil,
        actual: String? = nil
    ) {
        self.code = code
        self.cause = cause
        self.status = status
        self.expected = expected
        self.actual = actual
    }
}

/// An answer together with all that it is held against.
package struct ResponseEvaluator: Sendable {
    /// What was asked.
    package var plan: RequestPlan
    /// The key of the source that was asked.
    package var source: SourceKey
    /// The part that a range was to continue.
    package var part: PartState?
    /// The version at the target.
    package var local: LocalVersion?
    /// What the bytes must be.
    package var expectation: Expectation
    /// Limits.
    package var policy: TransferPolicy

    /// Takes what was asked, and what is known.
    package init(
        plan: RequestPlan, source: SourceKey, part: PartState? = nil,
        local: LocalVersion? = nil, expectation: Expectation = Expectation(),
        policy: TransferPolicy = TransferPolicy()
    ) {
        self.plan = plan
        self.source = source
        self.part = part
        self.local = local
        self.expectation = expectation
        self.policy = policy
    }

    var provenance: Provenance {
        Provenance(source: source, answeredBy: plan.url.withoutSecrets)
    }

    /// Judges an answer that arrived now.
    package func judge(_ head: ResponseHead, at now: Instant) -> ResponseEvaluation {
        let answer = Answer(head, provenance: provenance, url: plan.url, at: now)
        switch head.status {
        case 200: return judgeWhole(head, answer)
        case 206: return plan.offset > 0 ? judgeRange(head, answer) : .refuse(status(head))
        case 304: return judgeConfirmation(head, answer)
        case 416 where plan.offset > 0: return judgeUnsatisfied(head, answer)
        case 301, 302, 303, 307, 308:
            guard let location = head.single(.location), !location.isEmpty else {
                return .refuse(
                    Refusal(
                        .httpStatus, "the server answered \(head.status) without a Location",
                        status: head.status))
            }
            return .redirect(location: location)
        case 408, 425, 429, 500, 502, 503, 504:
            return .retry(status(head), after: head.retryAfter(now: now))
        default: return .refuse(status(head))
        }
    }

    func status(_ head: ResponseHead) -> Refusal {
        Refusal(.httpStatus, "the server answered \(head.status)", status: head.status)
    }
}
