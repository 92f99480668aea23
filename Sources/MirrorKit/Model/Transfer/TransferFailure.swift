/// A failure of the transport: no response came, or only a part of one.
struct TransportFailure: Sendable, Hashable, Error {
    /// The kind of failure.
    var code: FailureCode
    /// The cause, as the middle of a sentence.
    var cause: String
    /// Whether the same request may succeed later.
    var isPassing: Bool
    /// Whether any byte of the request was sent.
    var wasSent: Bool
    /// Whether the server may have refused the offered protocol, and not this client.
    ///
    /// True for a handshake that failed for another reason than a certificate (RFC 7301 §3.2).
    var mayBeProtocol: Bool
    /// Whether another request was under way on the same connection of HTTP/1.1.
    ///
    /// Then an answer may belong to either request.
    var isMisplaced = false
    /// Whether the connection broke because of an error in HTTP/2.
    var isOfHTTP2 = false
    /// Whether the server asked for a client certificate that it did not get.
    var wantsCertificate = false

    /// Takes the kind and the cause.
    init(
        _ code: FailureCode, _ cause: String, isPassing: Bool, wasSent: Bool,
        mayBeProtocol: Bool = false
    ) {
        self.code = code
        self.cause = cause
        self.isPassing = isPassing
        self.wasSent = wasSent
        self.mayBeProtocol = mayBeProtocol
    }

    /// A source sent fewer than 1 KiB a second for this many seconds.
    static func stalled(seconds: Int64) -> TransportFailure {
        TransportFailure(
            .stalled, "fewer than 1 KiB a second came for \(seconds) s",
            isPassing: true, wasSent: true)
    }

    /// A request went out on a connection of HTTP/1.1 that another request was using.
    static func misplaced(wasSent: Bool) -> TransportFailure {
        var failure = TransportFailure(
            .connectionLost, "several requests were under way on one connection of HTTP/1.1",
            isPassing: true, wasSent: wasSent)
        failure.isMisplaced = true
        return failure
    }

    /// The connection ended a body without a length, and may have cut the body.
    static func cutUnseen(at length: Int64) -> TransportFailure {
        TransportFailure(
            .connectionLost,
            "the connection ended after \(Counted(length, "byte")), without the notice that TLS ends with",
            isPassing: true, wasSent: true)
    }

    /// A response ended before all the bytes that it promised.
    static func cutShort(at length: Int64, of end: Int64) -> TransportFailure {
        TransportFailure(
            .connectionLost, "the connection ended after \(length) of \(Counted(end, "byte"))",
            isPassing: true, wasSent: true)
    }
}

/// The reasons for which a transfer refuses bytes or a source, beyond what one response says.
extension ResponseError {
    /// No whole response came.
    init(_ failure: TransportFailure) {
        self.init(failure.code, failure.cause)
        wantsCertificate = failure.wantsCertificate
    }

    /// The same error, with the difference of the clocks if it may be the cause.
    ///
    /// S3 refuses a signature that is more than 15 minutes old or in the future.
    func naming(clockOf head: ResponseHead, at now: Instant, isSigned: Bool) -> ResponseError {
        guard isSigned, let date = head.date(of: .date) else { return self }
        let ahead = now.seconds(since: Instant(seconds: date.seconds))
        guard abs(ahead) > 900 else { return self }
        var refusal = self
        refusal.cause +=
            "; the clock here is \(DurationText(seconds: abs(ahead))) "
            + (ahead > 0 ? "ahead of" : "behind") + " the server's"
        return refusal
    }

    /// A host asked to be left alone for longer than a transfer waits, so no request was made.
    static func heldOff(seconds: Int64, _ policy: TransferPolicy) -> ResponseError {
        ResponseError(
            .retryAfterTooLong,
            "the host asked to be left alone for another \(seconds) s, more than "
                + "\(policy.maxWait.wholeSeconds) s")
    }

    /// A response asks for a longer wait than the policy allows.
    func asking(forSeconds seconds: Int64, _ policy: TransferPolicy) -> ResponseError {
        ResponseError(
            .retryAfterTooLong,
            "\(cause) and asks for \(seconds) s of patience, more than \(policy.maxWait.wholeSeconds) s",
            status: status)
    }

    /// A host gave no answer in all of its tries.
    static func hostIsDown(_ host: String, _ outage: Outage) -> ResponseError {
        let tries = outage.tries == 1 ? "a try" : "\(outage.tries) tries"
        var error = ResponseError(outage.failure)
        error.cause =
            "\(host) gave no answer in \(tries), and is not asked any more in this run: "
            + outage.failure.cause
        return error
    }

    /// A response has more bytes than `limit`.
    ///
    /// - Parameter isDeclared: whether the response or the manifest announced the limit. Otherwise
    ///   it is the size limit of the policy.
    static func tooManyBytes(limit: Int64, isDeclared: Bool) -> ResponseError {
        let cause =
            isDeclared
            ? "the server sends more than the announced \(Counted(limit, "byte"))"
            : "the file has more than \(Counted(limit, "byte")), which is the limit"
        return ResponseError(isDeclared ? .sizeMismatch : .tooLarge, cause, expected: String(limit))
    }

    /// A body ended with another number of bytes than its response announced.
    static func wrongLength(_ length: Int64, of total: Int64) -> ResponseError {
        ResponseError(
            .sizeMismatch,
            "the file has \(Counted(length, "byte")), \(total) \(Counted.verb(total, "was", "were")) expected",
            expected: String(total), actual: String(length))
    }

    /// The same error for a transfer that received `wasted` bytes of a file in vain.
    ///
    /// - Parameter reason: why the transfer could not continue the bytes that it had.
    func afterWaste(of wasted: Int64, total: Int64, _ reason: String) -> ResponseError {
        var refusal = self
        refusal.cause +=
            "; \(ByteCount(wasted)) came of a file of \(ByteCount(total)), and " + reason
        return refusal
    }
}
