package import MirrorModel
package import MirrorSystem

/// Answers requests; any thread of the server may call it.
package protocol Responder: Sendable {
    /// Answers a request.
    ///
    /// - Parameter isRepeated: whether the work that an earlier reply named has been done.
    func reply(to request: ServedRequest, isRepeated: Bool) -> ServerReply

    /// Notes that a file of an answer has other bytes than the answer promised.
    func doubt(_ file: Descriptor)
}

/// What happens about a request.
package enum ServerReply: Sendable {
    /// It is answered; a body of a file comes from this one, open.
    case answer(ServedAnswer, Descriptor?)
    /// Work is done first, on another thread, and then the responder is asked again.
    ///
    /// The work looks at the flag, and returns soon once it is set.
    case work(@Sendable (CancellationFlag) -> Void)
}
