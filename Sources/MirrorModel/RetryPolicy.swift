/// How long to wait before trying again: exponential back-off with full jitter.
public struct RetryPolicy: Sendable, Hashable {
    /// How often all sources are tried again.
    public var retries: Int
    /// The longest wait in seconds.
    public var longestWait: Int64

    /// Takes the two limits.
    public init(retries: Int, longestWait: Int64) {
        self.retries = retries
        self.longestWait = longestWait
    }

    /// The wait in milliseconds before a retry, counted from 1.
    ///
    /// - Parameter jitter: picks a number from 0 to its argument, evenly.
    public func wait(beforeRetry retry: Int, jitter: (Int64) -> Int64) -> Int64 {
        let exponent = min(max(retry, 1) - 1, 20)
        let (longest, overflow) = longestWait.multipliedReportingOverflow(by: 1000)
        let ceiling = min(1000 << Int64(exponent), overflow ? .max : max(0, longest))
        return jitter(ceiling)
    }
}

/// A failure of the transport: no answer, or half of one.
public struct TransportFailure: Sendable, Hashable, Error {
    /// The kind of failure.
    public var code: FailureCode
    /// What happened, as the middle of a sentence.
    public var cause: String
    /// Whether the same request may succeed later.
    public var isPassing: Bool
    /// Whether any byte of the request was sent.
    public var wasSent: Bool
    /// Whether the server may have refused the protocol that was offered, not us: a handshake that
    /// failed, but not because of a certificate (RFC 7301 §3.2).
    public var mayBeProtocol: Bool

    /// Takes what happened.
    public init(
        _ code: FailureCode, _ cause: String, isPassing: Bool, wasSent: Bool,
        mayBeProtocol: Bool = false
    ) {
        self.code = code
        self.cause = cause
        self.isPassing = isPassing
        self.wasSent = wasSent
        self.mayBeProtocol = mayBeProtocol
    }
}
