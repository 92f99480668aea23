internal import MirrorModel

/// One request and its response, as the wire reports them.
///
/// The wire calls this object inside `perform` and `resume`, where no request may be made or ended.
/// So the callbacks only take bytes in and note their consequence as one `Finding`. The engine acts
/// on the finding when the wire reports that the request has ended.
final class ActiveRequest {
    /// Maximum bytes of heads and trailers together. libcurl's own limits look like lost
    /// connections.
    static let headerLimit = 256 << 10
    /// Maximum bytes of an unwanted body that are read to keep the connection.
    static let unwantedLimit: Int64 = 64 << 10
    /// Milliseconds for which an unwanted body is read.
    static let unwantedPatience: Int64 = 1000

    /// Receives the reports of the callbacks.
    protocol Listener: AnyObject {
        /// The final head came; returns whether its body is wanted.
        func received(head: ResponseHead, on active: ActiveRequest) -> Bool
        /// The connection is established and the request is being sent.
        func began(_ active: ActiveRequest)
        /// The bytes of the request wait until the loop resumes it.
        func heldBack(_ active: ActiveRequest)
        /// Its answer may belong to another request, so it must end and be made again.
        func misplaced(_ active: ActiveRequest)
        /// Bytes of a wanted body came.
        func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest) -> Reply
    }

    /// How an active request continues after bytes came.
    enum Reply {
        case proceed
        /// The bytes are not taken; they come again when the handle is resumed.
        case pause
        case stop
    }

    /// A result that the callbacks found before the wire reported the end of the request.
    enum Finding {
        /// Its head cannot be trusted.
        case refused(Refusal)
        /// The head decides alone: the next action of the transfer.
        case acted(TransferAction)
        /// The head decides alone: the verdict for a further connection.
        case judged(SegmentMachine.Verdict)
        /// More bytes came than the limit allows.
        case exceeded(limit: Int64)
        /// The answer may belong to another request on the same connection.
        case misplaced
        /// Another connection has the bytes that would come next.
        case cut
        /// Something failed on this side of the connection.
        case failedHere(MirrorError)
    }

    /// What is known of the socket of a request.
    struct Socket {
        /// Whether one was opened for it.
        var wasOpened = false
        /// Whether it is connected and the request is being sent. From then on the stall clock runs.
        var isConnected = false
        /// Whether the process had no descriptor left for one.
        var lacksDescriptor = false
        /// Whether an address was refused because it is not public.
        var refusedAddress = false
        /// Whether the server asked for a client certificate, which is not there.
        var wantsCertificate = false
        /// Whether the server said that it sends nothing more (close_notify, RFC 8446 §6.1); nil
        /// where that is not known.
        var isClosedByPeer: Bool?
    }

    /// What came of the response so far.
    private struct Intake {
        /// The lines of heads and trailers, and their bytes.
        var collector = HeadCollector()
        var headBytes = 0
        var wish = BodyWish.unknown
        /// That of the final head.
        var version: HTTPVersion?

        /// Whether the body is wanted, which the final head decides.
        enum BodyWish {
            case unknown
            case wanted
            /// So many bytes of it came all the same.
            case declined(bytes: Int64)
        }
    }

    /// Unique in the run.
    let number: Int
    /// The id of its transfer.
    let id: Int
    unowned let listener: any Listener
    /// An object that the wire attaches to the request while it runs.
    var connection: AnyObject?
    private var intake = Intake()
    var socket = Socket()
    /// The time at which the final head came, in the time of `AskingTime`; nil before it.
    var answeredAt: Int64?
    /// Bytes of bodies that came since this was last read and reset.
    var arrivedBytes = 0
    /// Whether its bytes wait within libcurl until the loop resumes it.
    var isHeldBack = false
    /// The id of its further connection; nil for the transfer's own connection.
    let segment: Int?
    /// Measures whether too few bytes come for too long, for the transfer or for a further
    /// connection.
    var stall: StallClock
    /// The result that its callbacks found, if they found one.
    private(set) var finding: Finding?
    /// Whether it is ended from this side, amid its answer: the wire reports that as a lost connection.
    private(set) var endsHere = false
    /// Whether another request was under way on its connection at the same time.
    private(set) var sharesConnection = false

    init(
        number: Int, id: Int, segment: Int? = nil, listener: any Listener, stall: StallClock
    ) {
        self.number = number
        self.id = id
        self.segment = segment
        self.stall = stall
        self.listener = listener
    }

    /// The version of the final head; nil before it.
    var version: HTTPVersion? { intake.version }

    /// Whether the final head came.
    var hasAnswered: Bool { answeredAt != nil }

    /// Notes a finding. The first finding is kept, except that a failure on this side replaces it,
    /// because no result of the response can be carried out then.
    func find(_ finding: Finding) {
        if self.finding == nil {
            self.finding = finding
        } else if case .failedHere = finding {
            self.finding = finding
        }
    }

    /// The request has a connection and is being sent.
    ///
    /// - Parameter other: a request that is under way on the same connection. Only HTTP/2 allows
    ///   that. Where the other one was answered over HTTP/1, its further bytes may come to either.
    func requestBegins(beside other: ActiveRequest? = nil) {
        socket.isConnected = true
        sharesConnection = other != nil
        if let other {
            other.sharesConnection = true
            if let version = other.version, version != .http2 {
                other.misplace()
                misplace()
            }
        }
        listener.began(self)
    }

    /// Whether its answer may belong to another request.
    var isMisplaced: Bool { if case .misplaced? = finding { true } else { false } }

    private func misplace() {
        guard finding == nil else { return }
        find(.misplaced)
        listener.misplaced(self)
    }

    /// Takes a line of a head or a trailer, with its line end; returns false to end the request.
    func take(line: UnsafeRawBufferPointer) -> Bool {
        let goesOn = takeIn(line: line)
        if !goesOn { endsHere = true }
        return goesOn
    }

    private func takeIn(line: UnsafeRawBufferPointer) -> Bool {
        intake.headBytes += line.count
        guard intake.headBytes <= ActiveRequest.headerLimit else {
            let limit = ActiveRequest.headerLimit >> 10
            find(
                .refused(
                    Refusal(.malformedResponse, "its header lines are longer than \(limit) KiB")))
            return false
        }
        switch intake.collector.take(line: line) {
        case .more: return true
        case .refused(let flaw):
            find(.refused(Refusal(.malformedResponse, "the answer cannot be trusted: \(flaw)")))
            return false
        case .head(let head):
            intake.version = head.version
            if sharesConnection, head.version != .http2 { misplace() }
            // Its bytes must not even be read for the sake of the connection.
            if isMisplaced { return false }
            let isWanted = listener.received(head: head, on: self)
            intake.wish = isWanted ? .wanted : .declined(bytes: 0)
            return isWanted || ActiveRequest.mayKeepConnection(after: head)
        }
    }

    /// Whether an unwanted body declares its end, so that the next response can follow it.
    ///
    /// HTTP/2 can end a stream without closing its connection.
    private static func mayKeepConnection(after head: ResponseHead) -> Bool {
        if head.version == .http2 { return true }
        return switch try? Framing.judge(head) {
        case .none?, .chunked?: true
        case .length(let length)?: length <= unwantedLimit
        case .unbounded?, nil: false
        }
    }

    /// Whether an unwanted body has occupied its place too long, at a time of `AskingTime`.
    func isOverdue(at time: Int64) -> Bool {
        guard case .declined = intake.wish, let answeredAt else { return false }
        return time - answeredAt >= ActiveRequest.unwantedPatience
    }

    /// Takes bytes of a body, and returns how the request continues.
    func take(body: UnsafeRawBufferPointer) -> Reply {
        let reply = takeIn(body: body)
        if case .stop = reply { endsHere = true }
        return reply
    }

    private func takeIn(body: UnsafeRawBufferPointer) -> Reply {
        switch intake.wish {
        case .wanted:
            let reply = listener.received(bytes: body, on: self)
            if case .pause = reply {
                isHeldBack = true
                listener.heldBack(self)
            }
            if case .proceed = reply {
                arrivedBytes += body.count
                stall.receive(body.count)
            }
            return reply
        case .declined(let earlier):
            arrivedBytes += body.count
            let bytes = earlier + Int64(body.count)
            intake.wish = .declined(bytes: bytes)
            return bytes > ActiveRequest.unwantedLimit ? .stop : .proceed
        case .unknown: return .stop
        }
    }
}
