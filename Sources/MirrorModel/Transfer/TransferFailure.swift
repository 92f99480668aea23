/// A failure of the transport: no response, or half of one.
package struct TransportFailure: Sendable, Hashable, Error {
    /// The kind of failure.
    package var code: FailureCode
    /// The cause, as the middle of a sentence.
    package var cause: String
    /// Whether the same request may succeed later.
    package var isPassing: Bool
    /// Whether any byte of the request was sent.
    package var wasSent: Bool
    /// Whether the server may have refused the offered protocol, and not this client.
    ///
    /// This is a handshake that failed, but not because of a certificate (RFC 7301 §3.2).
    package var mayBeProtocol: Bool
    /// Whether another request was under way on the same connection of HTTP/1.1.
    ///
    /// An answer may belong to either of them.
    package var isMisplaced = false
    /// Whether the connection broke by the rules of HTTP/2.
    package var isOfHTTP2 = false

    /// Takes the kind and the cause.
    package init(
        _ code: FailureCode, _ cause: String, isPassing: Bool, wasSent: Bool,
        mayBeProtocol: Bool = false
    ) {
        self.code = code
        self.cause = cause
        self.isPassing = isPassing
        self.wasSent = wasSent
        self.mayBeProtocol = mayBeProtocol
    }

    /// A source of which fewer than 1 KiB a second came for so many seconds.
    package static func stalled(seconds: Int64) -> TransportFailure {
        TransportFailure(
            .stalled, "fewer than 1 KiB a second came for \(seconds) s",
            isPassing: true, wasSent: true)
    }

    /// A request on a connection of HTTP/1.1 that another request uses at the same time.
    package static func misplaced(wasSent: Bool) -> TransportFailure {
        var failure = TransportFailure(
            .connectionLost, "several requests were under way on one connection of HTTP/1.1",
            isPassing: true, wasSent: wasSent)
        failure.isMisplaced = true
        return failure
    }

    /// The end of a connection that should have ended a body of unknown length, and may have cut it.
    static func cutUnseen(at length: Int64) -> TransportFailure {
        TransportFailure(
            .connectionLost,
            "the connection ended after \(Counted(length, "byte")), without the notice that TLS ends with",
            isPassing: true, wasSent: true)
    }

    /// The end of a response that promised more bytes.
    static func cutShort(at length: Int64, of end: Int64) -> TransportFailure {
        TransportFailure(
            .connectionLost, "the connection ended after \(length) of \(Counted(end, "byte"))",
            isPassing: true, wasSent: true)
    }
}

/// The reasons for which a transfer refuses bytes, or leaves a source, without a response that says
/// so.
extension ResponseError {
    /// A host asked to be left alone for longer than a transfer waits; no request was made.
    static func heldOff(seconds: Int64, _ policy: TransferPolicy) -> ResponseError {
        ResponseError(
            .retryAfterTooLong,
            "the host asked to be left alone for another \(seconds) s, more than "
                + "\(policy.longestWait) s")
    }

    /// A response asks for more patience than a transfer has.
    func asking(forSeconds seconds: Int64, _ policy: TransferPolicy) -> ResponseError {
        ResponseError(
            .retryAfterTooLong,
            "\(cause) and asks for \(seconds) s of patience, more than \(policy.longestWait) s",
            status: status)
    }

    /// A host gave no answer in all of its tries.
    static func hostIsDown(_ host: String, _ outage: Outage) -> ResponseError {
        let tries = outage.tries == 1 ? "a try" : "\(outage.tries) tries"
        return ResponseError(
            outage.failure.code,
            "\(host) gave no answer in \(tries), and is not asked any more in this run: "
                + outage.failure.cause)
    }

    /// A response has more bytes than `limit`, which it announced or which is set.
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

    /// The same failure, of a transfer that received `wasted` bytes of a file in vain.
    ///
    /// - Parameter reason: why it could not go on where it was.
    func afterWaste(of wasted: Int64, total: Int64, _ reason: String) -> ResponseError {
        var refusal = self
        refusal.cause +=
            "; \(ByteCount(wasted)) came of a file of \(ByteCount(total)), and " + reason
        return refusal
    }
}
