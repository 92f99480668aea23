/// Which protocol a body is asked for over.
///
/// A long one is asked for over HTTP/1.1. The few servers that do not speak it break off the
/// handshake (RFC 7301 §3.2), close the connection, answer in their own protocol, or say so: they are
/// asked once more, at once, and choose from then on. That is no retry.
extension TransferMachine {
    /// Leaves the protocol to a source, whatever is asked of it.
    package mutating func leaveProtocol(to source: Int) { sources[source].choosesProtocol = true }

    /// Whether so many bytes, asked for by a plan, make a long body. Without TLS no protocol is
    /// negotiated, and there is nothing to choose.
    func isLong(_ missing: Int64, _ plan: RequestPlan) -> Bool {
        missing >= RequestPlan.leastLong && plan.url.scheme == .https && !isPost
            && plan.condition == nil && !sources[plan.source].choosesProtocol
    }

    /// The next request where a head refuses the protocol.
    mutating func askAgain(instead head: ResponseHead) -> TransferAction? {
        plan.isRefused(by: head.status) ? leaveProtocolToSource() : nil
    }

    /// The next request where the protocol may be why no answer came.
    mutating func askAgain(instead failure: TransportFailure) -> TransferAction? {
        mayRefuseProtocol(failure) ? leaveProtocolToSource() : nil
    }

    /// Whether a failure says nothing of the host but that it may speak another protocol.
    package func mayRefuseProtocol(_ failure: TransportFailure) -> Bool {
        reception == nil && plan.isRefused(by: failure)
    }

    private mutating func leaveProtocolToSource() -> TransferAction {
        leaveProtocol(to: current)
        var action = TransferAction(request())
        action.leavesProtocol = true
        return action
    }
}

extension RequestPlan {
    /// Whether a status says that the protocol is another one: 421, 426 and 505 (RFC 9110 §15), and the
    /// 464 of a load balancer that cannot translate.
    package func isRefused(by status: Int?) -> Bool {
        guard isLong, let status else { return false }
        return [421, 426, 464, 505].contains(status)
    }

    /// Whether a failure before any answer may come from a server of another protocol.
    package func isRefused(by failure: TransportFailure) -> Bool {
        guard isLong else { return false }
        return switch failure.code {
        case .connectionLost: failure.wasSent
        case .malformedResponse: true
        default: failure.mayBeProtocol
        }
    }
}
