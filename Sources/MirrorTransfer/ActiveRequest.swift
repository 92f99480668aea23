internal import MirrorModel

/// One request and its answer, as the wire tells of them.
///
/// The wire calls in here inside `perform` and `resume`, where no request may be made or ended. So bytes are
/// only taken in, and what follows is noted as one `Finding`; the engine acts on it when the wire says
/// that the request has ended.
final class ActiveRequest {
    /// All bytes of heads and trailers that are read; libcurl's own limits look like lost
    /// connections.
    static let headerLimit = 256 << 10
    /// How much of a body that nobody wants is read to keep the connection.
    static let unwantedLimit: Int64 = 64 << 10
    /// For how many milliseconds it is read.
    static let unwantedPatience: Int64 = 1000

    /// What the callbacks tell.
    protocol Listener: AnyObject {
        /// The final head came; whether its body is wanted.
        func received(head: ResponseHead, on active: ActiveRequest) -> Bool
        /// The connection stands and the request is on its way.
        func began(_ active: ActiveRequest)
        /// Its bytes wait until it is let go on.
        func heldBack(_ active: ActiveRequest)
        /// Bytes of a wanted body came.
        func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest) -> Reply
    }

    /// What becomes of an active after bytes came.
    enum Reply {
        case proceed
        /// The bytes are not taken; they come again when the handle is let go on.
        case pause
        case stop
    }

    /// What a request came to where its callbacks found that out, before the wire says how it ended.
    enum Finding {
        /// Its head cannot be trusted.
        case refused(Refusal)
        /// Its head says all: what the transfer does next.
        case acted(TransferAction)
        /// Its head says all: what follows for a further connection.
        case judged(SegmentMachine.Verdict)
        /// More bytes came than it may have.
        case exceeded(limit: Int64)
        /// Somebody else has what would come next.
        case cut
        /// Something failed on this side of the connection.
        case failedHere(MirrorError)
    }

    /// Unique in the run.
    let number: Int
    /// Its transfer.
    let id: Int
    unowned let listener: any Listener
    /// What the wire keeps with it while it runs.
    var connection: AnyObject?
    private var collector = HeadCollector()
    private var headerBytes = 0
    private var unwantedBytes: Int64 = 0
    private var wantsBody = false
    private var isDeclined = false

    /// Whether the connection stands and the request is on its way: from here the stall clock runs.
    private(set) var isAsking = false
    /// The port of its connection on this side; requests that share one share the connection.
    private(set) var localPort: Int32 = 0
    /// When the final head came, at a time of `AskingTime`.
    var answeredAt: Int64 = 0
    /// Whether the final head came.
    var hasAnswered = false
    /// Bytes of bodies that came since this was last read and reset.
    var arrivedBytes = 0
    /// Whether its bytes wait within libcurl until the loop lets it go on.
    var isHeldBack = false
    /// The further connection that it belongs to; nil when it is the transfer's own.
    let segment: Int?
    /// Whether too little comes for too long: of the transfer as a whole, or of a further connection.
    var stall: StallClock
    /// What it came to, where its callbacks found that out.
    private(set) var finding: Finding?
    /// Whether an address was refused because it is not public.
    var refusedAddress = false
    /// Whether a socket was opened for it.
    var hasSocket = false
    /// Whether the process had no descriptor left for one.
    var lacksDescriptor = false

    init(
        number: Int, id: Int, segment: Int? = nil, listener: any Listener, stall: StallClock
    ) {
        self.number = number
        self.id = id
        self.segment = segment
        self.stall = stall
        self.listener = listener
    }

    /// Notes what it came to. The first that was found stands, but for a failure on this side: nothing
    /// that the answer says can be done then.
    func find(_ finding: Finding) {
        if self.finding == nil {
            self.finding = finding
        } else if case .failedHere = finding {
            self.finding = finding
        }
    }

    /// It has a connection, and the request is on its way.
    func requestBegins(localPort: Int32) {
        isAsking = true
        self.localPort = localPort
        listener.began(self)
    }

    /// Takes a line of a head or a trailer, its end included; false ends the request.
    func take(line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= ActiveRequest.headerLimit else {
            let limit = ActiveRequest.headerLimit >> 10
            find(
                .refused(
                    Refusal(.malformedResponse, "its header lines are longer than \(limit) KiB")))
            return false
        }
        switch collector.take(line: line) {
        case .more: return true
        case .refused(let flaw):
            find(.refused(Refusal(.malformedResponse, "the answer cannot be trusted: \(flaw)")))
            return false
        case .head(let head):
            wantsBody = listener.received(head: head, on: self)
            isDeclined = !wantsBody
            return wantsBody || ActiveRequest.mayKeepConnection(after: head)
        }
    }

    /// Whether a body that nobody wants says where it ends, so that the next answer can follow it.
    ///
    /// A stream of HTTP/2 is ended without its connection.
    private static func mayKeepConnection(after head: ResponseHead) -> Bool {
        if head.version == .http2 { return true }
        return switch try? Framing.judge(head) {
        case .none?, .chunked?: true
        case .length(let length)?: length <= unwantedLimit
        case .unbounded?, nil: false
        }
    }

    /// Whether a body that nobody wants has kept its place too long, at a time of `AskingTime`.
    func isOverdue(at time: Int64) -> Bool {
        isDeclined && time - answeredAt >= ActiveRequest.unwantedPatience
    }

    /// Takes bytes of a body, and says what becomes of the request.
    func take(body: UnsafeRawBufferPointer) -> Reply {
        if wantsBody {
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
        }
        arrivedBytes += body.count
        unwantedBytes += Int64(body.count)
        return unwantedBytes > ActiveRequest.unwantedLimit ? .stop : .proceed
    }
}
