/// What a transfer does next, and what became of its part.
package struct TransferAction: Sendable {
    /// The next step.
    package var next: Next
    /// Whether the part in hand is thrown away first.
    package var dropsPart: Bool
    /// What an observer is told.
    package var notice: Notice?
    /// Seconds for which the server asked that its host be left alone.
    package var hostHold: Int64?
    /// Whether the host that was asked may speak no HTTP/1.1.
    package var leavesProtocol = false
    /// Whether a wait is for a connection that was lost, and is over when the network comes back.
    package var waitsForNetwork = false

    init(_ next: Next, dropsPart: Bool = false, notice: Notice? = nil) {
        self.next = next
        self.dropsPart = dropsPart
        self.notice = notice
    }

    /// A step of a transfer.
    package indirect enum Next: Sendable {
        /// A request is made; `answered` or `interrupted` comes next.
        case request(RequestPlan)
        /// The body is taken; `bodyEnded`, `interrupted` or `exceeded` comes next.
        case receive(Reception)
        /// Nothing for so many milliseconds; `waited` comes next.
        case wait(milliseconds: Int64)
        /// The bytes are held against what they must be; `checked` comes next.
        case check
        /// The bytes are what was wanted: the end.
        case accept(Verification, Answer)
        /// The version at the target is the current one: the end.
        case confirm(Answer)
        /// No source could give the bytes: the end.
        case fail(MirrorError)
    }

    /// Something worth telling that does not end the transfer.
    package enum Notice: Sendable {
        /// A passing failure; the next request is made after so many milliseconds.
        case retry(cause: MirrorError, attempt: Int, waitMilliseconds: Int64)
        /// The bytes so far are dropped.
        case restart(cause: MirrorError, attempt: Int)
    }
}

/// What a source did in this run.
struct SourceState: Sendable {
    let source: CandidateSource
    /// Why it is not asked again.
    var ending: MirrorError?
    /// Its last passing failure.
    var lastFailure: MirrorError?
    /// How often a part was dropped because of its answers.
    var restarts = 0
    /// Whole bodies that it alone sent, and that were wrong.
    var wrongBodies = 0
    /// For how many milliseconds its host is not to be asked, as of the last word of it.
    var closedFor: Int64 = 0
    /// Whether conditions are left out.
    var asksPlainly = false
    /// Whether the protocol is left to it for long bodies too: it may not speak HTTP/1.1.
    var choosesProtocol = false

    /// Whether ranges are asked of it.
    var resumes: Bool { restarts < 2 }
}
