/// The protocol over which a body is requested.
///
/// A long body is requested over HTTP/1.1. The few servers that do not speak it abort the handshake
/// (RFC 7301 §3.2), close the connection, answer in their own protocol, or say so. Such a server is
/// asked once more, at once, and chooses the protocol from then on. That is no retry.
extension TransferMachine {
    /// Leaves the protocol of every request to a source.
    package mutating func leaveProtocol(to source: Int) { sources[source].choosesProtocol = true }

    /// Whether a number of bytes, requested by a plan, makes a long body.
    ///
    /// Without TLS no protocol is negotiated, and there is no choice.
    func isLong(_ missing: Int64, _ plan: RequestDraft) -> Bool {
        missing >= RequestDraft.leastLong && plan.url.scheme == .https && !isPost
            && plan.condition == nil && !sources[plan.source].choosesProtocol
    }

    /// The next request if a head refuses the protocol.
    mutating func askAgain(instead head: ResponseHead) -> TransferAction? {
        plan.isRefused(by: head.status) ? leaveProtocolToSource() : nil
    }

    /// The next request if the protocol may be the reason for a missing response.
    mutating func askAgain(instead failure: TransportFailure) -> TransferAction? {
        mayRefuseProtocol(failure) ? leaveProtocolToSource() : nil
    }

    /// Whether a failure says only that the host may speak another protocol.
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
    /// Whether a status says that the server wants another protocol than that of this request.
    package func isRefused(by status: Int?) -> Bool {
        guard isLong, let status else { return false }
        return StatusCode.refusesProtocol(status)
    }

    /// Whether a failure before any response may come from a server of another protocol.
    package func isRefused(by failure: TransportFailure) -> Bool {
        guard isLong else { return false }
        return switch failure.code {
        case .connectionLost: failure.wasSent
        case .malformedResponse: true
        default: failure.mayBeProtocol
        }
    }
}
