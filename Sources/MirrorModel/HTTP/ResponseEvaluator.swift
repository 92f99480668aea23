/// The meaning of a response for a transfer, given its request; decided only here.
package enum ResponseEvaluation: Sendable {
    /// The transfer takes the body.
    case receive(Reception)
    /// The version at the target is the current one.
    case notModified(Answer)
    /// The part has all bytes of the current version.
    case partIsComplete
    /// The part cannot be continued with this response: it is dropped, and the file requested anew.
    case startOver(Refusal)
    /// The response cannot be believed: the file is requested without a condition.
    case askPlainly(Refusal)
    /// The response may carry only the range that was asked for, though it says that it is the whole
    /// file: it is dropped with the part, and the source is asked without ranges from now on.
    case askWhole(Refusal)
    /// The server may refuse the range, and not the request: it is made once more without one.
    case askWithoutRange(Refusal)
    /// The end of the body would prove nothing over HTTP/2: the file is requested over HTTP/1.1.
    case askUnshared(Refusal)
    /// The bytes are elsewhere.
    case redirect(location: String)
    /// A temporary failure, with the seconds that the server asks to wait.
    case retry(Refusal, after: Int64?)
    /// The source cannot serve the file in this run.
    case refuse(Refusal)
}

/// The reason for refusing a response, as the middle of a sentence and for scripts.
package struct Refusal: Sendable, Hashable, Error {
    /// The kind of failure.
    package var code: FailureCode
    /// The cause, e.g. `the server answered 404`.
    package var cause: String
    /// The status of the response.
    package var status: Int?
    /// The declared or known value.
    package var expected: String?
    /// The value that was found instead.
    package var actual: String?
    /// Whether the network may be at fault, as with a page that wants a login: it may heal.
    package var mayHeal = false

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

/// Compares a response with its request, the part, the version at the target and the expectation.
package struct ResponseEvaluator: ~Copyable, Sendable {
    /// The request.
    package var plan: RequestPlan
    /// The key of the source that was requested.
    package var source: SourceKey
    /// The part that a range was to continue.
    package var part: PartState?
    /// The version at the target.
    package var local: LocalVersion?
    /// The size, digests and media type that the bytes must have.
    package var expectation: Expectation
    /// Limits.
    package var policy: TransferPolicy
    /// Where the file goes; its name may say that it is meant to be encoded.
    package var target: Target?

    /// Takes the request, and everything known about the file.
    package init(
        plan: RequestPlan, source: SourceKey, part: PartState? = nil,
        local: LocalVersion? = nil, expectation: Expectation = Expectation(),
        policy: TransferPolicy = TransferPolicy(), target: Target? = nil
    ) {
        self.plan = plan
        self.source = source
        self.part = part
        self.local = local
        self.expectation = expectation
        self.policy = policy
        self.target = target
    }

    var provenance: Provenance {
        Provenance(source: source, answeredBy: plan.url.withoutSecrets)
    }

    /// Judges a response that arrived now.
    package func judge(_ head: ResponseHead, at now: Instant) -> ResponseEvaluation {
        let answer = Answer(head, provenance: provenance, url: plan.url, at: now)
        switch head.status {
        case 200, 203: return judgeWhole(head, answer)
        case 206 where plan.asksRange: return judgeRange(head, answer)
        case 206: return judgeUnaskedRange(head, answer)
        case 304: return judgeConfirmation(head, answer)
        case 416 where plan.offset > 0: return judgeUnsatisfied(head, answer)
        case 301, 302, 303, 307, 308:
            guard let location = head.redirectLocation else {
                let what = head.has(.location) ? "with an empty or a second" : "without a"
                return .refuse(
                    Refusal(
                        .httpStatus, "the server answered \(head.status) \(what) Location",
                        status: head.status))
            }
            return .redirect(location: location)
        case let code where plan.asksRange && StatusCode.mayRefuseRanges(code):
            return .askWithoutRange(status(head))
        case let code where StatusCode.isPassing(code):
            return .retry(status(head), after: head.retryAfter(now: now))
        default: return .refuse(status(head))
        }
    }

    func status(_ head: ResponseHead) -> Refusal {
        // Only a proxy answers 407 (RFC 9110 §15.5.8). Without TLS its other statuses look like the server's.
        let sender = head.status == 407 ? "proxy" : "server"
        return Refusal(.httpStatus, "the \(sender) answered \(head.status)", status: head.status)
    }
}
