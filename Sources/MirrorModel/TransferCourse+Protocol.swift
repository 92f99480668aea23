/// Which protocol a body is asked for over.
///
/// A long one is asked for over HTTP/1.1. The few servers that do not speak it break off the
/// handshake (RFC 7301 §3.2), close the connection, or say so (RFC 9110 §15): they are asked once
/// more, at once, and choose from then on. That is no retry.
extension TransferCourse {
    /// Whether so many bytes, asked for by a plan, make a long body. Without TLS no protocol is
    /// negotiated, and there is nothing to choose.
    func isLong(_ missing: Int64, _ plan: RequestPlan) -> Bool {
        missing >= RequestPlan.leastLong && plan.url.scheme == .https && !isPost
            && plan.condition == nil && !sources[plan.source].choosesProtocol
    }

    /// The next request where an answer wants another protocol: 421, 426 and 505.
    mutating func askAgain(instead head: ResponseHead) -> Turn? {
        [421, 426, 505].contains(head.status) ? leaveProtocolToSource() : nil
    }

    /// The next request where the protocol may be why no answer came.
    mutating func askAgain(instead failure: TransportFailure) -> Turn? {
        let isUnanswered = reception == nil && failure.wasSent && failure.code == .connectionLost
        return isUnanswered || failure.mayBeProtocol ? leaveProtocolToSource() : nil
    }

    private mutating func leaveProtocolToSource() -> Turn? {
        guard plan.isLong else { return nil }
        sources[current].choosesProtocol = true
        return Turn(request())
    }
}
