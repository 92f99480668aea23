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
