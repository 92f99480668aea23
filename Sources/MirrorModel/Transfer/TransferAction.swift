/// The next step of a transfer, and whether it keeps its part.
package struct TransferAction: Sendable {
    /// The next step.
    package var next: Next
    /// Whether the part in hand is dropped first.
    package var dropsPart: Bool
    /// The notice for an observer, where there is one.
    package var notice: Notice?
    /// The time for which the server asked that its host be left alone, in seconds.
    package var hostHold: Int64?
    /// What was learned about the protocols of the requested host.
    package var protocols: HostProtocols?
    /// Whether the wait follows a lost connection, and ends early when the network comes back.
    package var waitsForNetwork = false
    /// Whether the wait is for other credentials of the current source, which come as `renewed`.
    package var asksCredentials = false

    init(_ next: Next, dropsPart: Bool = false, notice: Notice? = nil) {
        self.next = next
        self.dropsPart = dropsPart
        self.notice = notice
    }

    /// A step of a transfer.
    package enum Next: Sendable {
        /// Make a request; `answered` or `interrupted` comes next.
        case request(RequestPlan)
        /// Receive the body; `bodyEnded`, `interrupted` or `exceeded` comes next.
        case receive(Reception)
        /// Wait for a number of milliseconds; `waited` comes next.
        case wait(milliseconds: Int64)
        /// Compare the bytes with the expectation; `checked` comes next.
        case check
        /// The bytes are the wanted ones: the end.
        case accept(Verification, Answer)
        /// The version at the target is the current one: the end.
        case confirm(Answer)
        /// No source could give the bytes: the end.
        indirect case fail(MirrorError)
    }

    /// An event for observers that does not end the transfer.
    package indirect enum Notice: Sendable {
        /// A passing failure; the next request is made after `waitMilliseconds`.
        case retry(
            cause: MirrorError, attempt: Int, waitMilliseconds: Int64, tries: RetryTries? = nil)
        /// The bytes so far are dropped.
        case restart(cause: MirrorError, attempt: Int)
    }
}

/// The state of one source in this run.
struct SourceState: Sendable {
    let source: CandidateSource
    /// Why it is not asked again.
    var ending: MirrorError?
    /// Its last passing failure.
    var lastFailure: MirrorError?
    /// How often a part was dropped because of its responses.
    var restarts = 0
    /// How often the progress of a part that began with its response was counted from 0.
    var beginnings = 0
    /// The number of whole bodies that it alone sent, and that were wrong.
    var wrongBodies = 0
    /// For how many milliseconds its host must not be requested, as last reported.
    var closedFor: Int64 = 0
    /// Whether its requests leave conditions out.
    var asksPlainly = false
    /// The protocols that its host speaks, as far as it is known.
    var protocols = HostProtocols()

    /// Whether it answers a range in a way that cannot be used.
    var refusesRanges = false
    /// Whether the request under way leaves the range out, because the one before was refused.
    var omitsRange = false

    /// What became of its credentials, once it had refused them.
    var renewal = Renewal.none

    enum Renewal: Sendable {
        case none
        /// Others are asked for, and if there are none, this is its ending.
        indirect case awaited(Refusal)
        case over
    }

    /// Whether it is asked for ranges.
    var resumes: Bool { restarts < 2 && !refusesRanges && !omitsRange }
}
