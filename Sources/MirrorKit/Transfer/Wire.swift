/// Makes requests: it has sockets, protocols and timers, and decides nothing.
///
/// One thread calls it. The wire reports each response to its active request inside `perform` and
/// `resume`, and no request may be made or ended there. `CurlWire` sends requests to servers. A
/// simulation has another wire, with a simulated clock.
protocol Wire: AnyObject {
    /// Prepares a request. Throws if no request can be made.
    func prepare(_ active: ActiveRequest) throws(MirrorError)
    /// Starts the prepared request.
    func begin(_ active: ActiveRequest)
    /// Ends the request in any state; its active request receives no further call.
    func end(_ active: ActiveRequest)
    /// Delivers the bytes that an active request held back, and resumes the request.
    /// Returns the end of a request that has ended. Returns nil if the request goes on.
    func resume(_ active: ActiveRequest) -> WireEnd?
    /// Continues every request that can continue, without waiting.
    func perform()
    /// Returns the next request that has ended by itself. Returns nil if there is no such request.
    func nextEnd() -> WireEnd?
    /// Ends the connection of a request if no byte came over it for so many milliseconds.
    /// Other requests that share the connection end too.
    func endConnection(of active: ActiveRequest, ifSilentFor milliseconds: Int64)
    /// Starts watching for a network that returns. Its return also ends `wait`.
    func watchNetwork()
    /// Whether the network may have come back since the last call.
    func networkHasReturned() -> Bool
    /// Waits until a request can continue, a message arrives, or the time is over.
    func wait(milliseconds: Int64)
}

/// How a request ended.
struct WireEnd {
    let active: ActiveRequest
    /// Why the request failed. `nil` means that the response is complete.
    let failure: TransportFailure?
    /// Whether a byte of the request was sent.
    let wasSent: Bool
}

/// One request and its response, as the wire reports them.
///
/// The wire calls this object inside `perform` and `resume`, where no request may be made or ended.
/// So the callbacks only store bytes, and note what follows as one `Finding`. The engine acts on
/// the finding when the wire reports that the request has ended.
final class ActiveRequest {
    /// Maximum bytes of heads and trailers together.
    /// libcurl has limits of its own, but reports them like lost connections.
    static let headerLimit = 256 << 10
    /// Maximum bytes of an unwanted body that are read to keep the connection.
    static let unwantedLimit: Int64 = 64 << 10
    /// Maximum milliseconds for which an unwanted body is read.
    static let unwantedPatience: Int64 = 1000

    /// Receives the reports of the callbacks.
    protocol Listener: AnyObject {
        /// Handles the final head. Returns whether its body is wanted.
        func received(head: ResponseHead, on active: ActiveRequest) -> Bool
        /// Notes that the connection is established and the request is being sent.
        func began(_ active: ActiveRequest)
        /// Notes that the bytes of the request wait until the loop resumes it.
        func heldBack(_ active: ActiveRequest)
        /// Notes that the answer may belong to another request.
        /// The request must end and be made again.
        func misplaced(_ active: ActiveRequest)
        /// Handles bytes of a wanted body. Returns how the request continues.
        func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest) -> Reply
    }

    /// How an active request continues after bytes came.
    enum Reply {
        case proceed
        /// The bytes are not taken. They come again when the handle is resumed.
        case pause
        case stop
    }

    /// A result that the callbacks found before the wire reported the end of the request.
    enum Finding {
        /// The head or the trailer cannot be trusted.
        case refused(ResponseError)
        /// The head decides without a body: the download carries out this action.
        case acted(TransferAction)
        /// The head decides without a body: the further connection carries out this action.
        case judged(SegmentMachine.Action)
        /// More bytes came than the limit allows.
        case exceeded(limit: Int64)
        /// The answer may belong to another request on the same connection.
        case misplaced
        /// Another connection fetches the bytes that would come next.
        case cut
        /// An operation of mirror itself failed, for example a write.
        case failedHere(MirrorError)
    }

    /// Unique in the run.
    let number: Int
    /// The id of the download, or of another owner.
    let id: Int
    /// The download that the request belongs to. `nil` if the request fetches nothing.
    let download: Download?
    let plan: RequestPlan
    let source: PreparedSource
    /// Whether the request must not share a connection.
    let isAlone: Bool
    unowned let listener: any Listener
    /// The wire's own object for the request, attached while the request runs.
    var connection: AnyObject?
    /// `collector`: the lines of heads and trailers. `headBytes`: how many bytes these lines have.
    private var collector = HeadCollector()
    private var headBytes = 0
    /// Whether the body is wanted. `nil` means that no final head has decided it yet.
    private var wantsBody: Bool?
    /// How many bytes of an unwanted body came.
    private var unwantedBytes: Int64 = 0
    /// The version of the final head. `nil` means that the head has not come yet.
    private(set) var version: HTTPVersion?
    /// Whether a socket was opened for the request.
    var hadSocket = false
    /// Whether the request is connected and being sent. From then on the stall clock runs.
    private(set) var isConnected = false
    /// Whether the process had no descriptor left for a socket.
    var lacksDescriptor = false
    /// Whether an address was refused because it is not public.
    var refusedAddress = false
    /// Whether the server asked for a client certificate, which mirror does not have.
    var wantsCertificate = false
    /// Whether the server said that it sends nothing more (close_notify, RFC 8446 §6.1).
    /// `nil` means that this is not known.
    var isClosedByPeer: Bool?
    /// The time of `AskingTime` at which the final head came. `nil` means that it has not come yet.
    var answeredAt: Int64?
    /// Bytes of bodies that came since the loop last read this count and reset it.
    var arrivedBytes = 0
    /// Whether libcurl holds bytes of the request until the loop resumes it.
    var isHeldBack = false
    /// The id of the request's further connection. `nil` means the download's own connection.
    let segment: Int?
    /// Measures whether too few bytes come for too long, for the download or for a further
    /// connection.
    var stall: StallClock
    /// The result that its callbacks found, if they found one.
    private(set) var finding: Finding?
    /// Whether mirror ended the request during its answer. The wire then reports a lost connection.
    private(set) var endsHere = false
    /// Whether another request was under way on the same connection at the same time.
    private(set) var sharesConnection = false

    init(
        _ plan: RequestPlan, to source: PreparedSource, number: Int, id: Int,
        of download: Download? = nil, segment: Int? = nil, isAlone: Bool = false,
        listener: any Listener, stall: StallClock
    ) {
        self.plan = plan
        self.source = source
        self.number = number
        self.id = id
        self.download = download
        self.segment = segment
        self.isAlone = isAlone || plan.isAlone
        self.stall = stall
        self.listener = listener
    }

    /// The body of a POST. `nil` means that the request is a GET.
    var postBody: [UInt8]? { download?.postBody }

    /// Whether the request may share a connection of HTTP/2.
    var mayShareConnection: Bool {
        !isAlone && plan.url.scheme == .https && !plan.usesHTTP1
    }

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

    /// Notes that the request has a connection and is being sent.
    ///
    /// - Parameter other: a request that is under way on the same connection. Only HTTP/2 allows
    ///   such requests. If `other` was answered over HTTP/1, either request may receive its further
    ///   bytes.
    func requestBegins(beside other: ActiveRequest? = nil) {
        isConnected = true
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

    /// Whether the answer may belong to another request.
    var isMisplaced: Bool { if case .misplaced? = finding { true } else { false } }

    private func misplace() {
        guard finding == nil else { return }
        find(.misplaced)
        listener.misplaced(self)
    }

    /// Handles a line of a head or a trailer, with its line end. Returns false to end the request.
    func take(line: UnsafeRawBufferPointer) -> Bool {
        let goesOn = takeIn(line: line)
        if !goesOn { endsHere = true }
        return goesOn
    }

    private func takeIn(line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= ActiveRequest.headerLimit else {
            let limit = ActiveRequest.headerLimit >> 10
            find(
                .refused(
                    ResponseError(
                        .malformedResponse, "its header lines are longer than \(limit) KiB")))
            return false
        }
        do throws(ResponseError) {
            guard let head = try collector.take(line: line) else { return true }
            version = head.version
            if sharesConnection, head.version != .http2 { misplace() }
            // The body of a misplaced answer must not be read, not even to keep the connection.
            if isMisplaced { return false }
            let isWanted = listener.received(head: head, on: self)
            wantsBody = isWanted
            return isWanted || ActiveRequest.mayKeepConnection(after: head)
        } catch {
            find(.refused(error))
            return false
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

    /// Whether an unwanted body has been read for too long. `time` is a time of `AskingTime`.
    func isOverdue(at time: Int64) -> Bool {
        guard wantsBody == false, let answeredAt else { return false }
        return time - answeredAt >= ActiveRequest.unwantedPatience
    }

    /// Handles bytes of a body. Returns how the request continues.
    func take(body: UnsafeRawBufferPointer) -> Reply {
        let reply = takeIn(body: body)
        if case .stop = reply { endsHere = true }
        return reply
    }

    private func takeIn(body: UnsafeRawBufferPointer) -> Reply {
        switch wantsBody {
        case true?:
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
        case false?:
            arrivedBytes += body.count
            unwantedBytes += Int64(body.count)
            return unwantedBytes > ActiveRequest.unwantedLimit ? .stop : .proceed
        case nil: return .stop
        }
    }
}

/// The requests on the wire: those that run, and those that hold their bytes back.
///
/// The end of one request may end others while a loop visits the running requests. So the loop
/// checks with `isRunning`, by number, that each request still runs.
final class ActiveRequests {
    let wire: any Wire
    /// The time that the stall clocks of the requests measure.
    private(set) var asking: AskingTime
    /// The requests that run, by number.
    private(set) var running: [Int: ActiveRequest] = [:]
    private var made = 0
    /// Requests whose bytes wait within libcurl.
    private var heldBack: [ActiveRequest] = []
    /// Requests whose answers may belong to others.
    private var misplaced: [ActiveRequest] = []
    private let register: TransferRegister

    init(_ wire: any Wire, of register: TransferRegister, now: Int64) {
        self.wire = wire
        self.register = register
        asking = AskingTime(now: now)
    }

    /// Whether a request still runs.
    func isRunning(_ active: ActiveRequest) -> Bool { running[active.number] === active }

    /// Reads the clock for the stall clocks. `hasAsked` says whether sockets were read until now.
    func look(now: Int64, hasAsked: Bool) { asking.look(now: now, hasAsked: hasAsked) }

    /// Prepares a request of a download's own connection or of a further connection.
    ///
    /// - Parameters:
    ///   - segment: the id of the further connection. `nil` means the download's own connection.
    ///   - isAlone: whether the request must not share a connection.
    ///   - listener: receives what the wire reports.
    func prepare(
        _ plan: RequestPlan, for download: Download, segment: Int? = nil, stall: StallClock,
        isAlone: Bool = false, listener: any ActiveRequest.Listener
    ) throws(MirrorError) -> ActiveRequest {
        made += 1
        let active = ActiveRequest(
            plan, to: download.sources[plan.source], number: made, id: download.id, of: download,
            segment: segment, isAlone: isAlone, listener: listener, stall: stall)
        try wire.prepare(active)
        running[active.number] = active
        return active
    }

    /// Removes a request from the wire. Another request may then use its handle.
    func breakOff(_ active: ActiveRequest) {
        wire.end(active)
        running[active.number] = nil
        guard active.segment == nil, let download = active.download else { return }
        download.state = .working
        active.stall.end(at: asking.elapsed)
        download.stall = active.stall
    }
}

// MARK: Callbacks

extension ActiveRequests {
    /// Starts the stall clock of a request that is now connected.
    func began(_ active: ActiveRequest, of download: Download) {
        if !download.isPaused { active.stall.begin(at: asking.elapsed) }
    }

    /// Notes a head. If its status shows an overloaded host, the dispatcher backs off.
    func answered(_ head: ResponseHead, on active: ActiveRequest) {
        active.answeredAt = asking.elapsed
        if StatusCode.isOverload(head.status) { register.dispatcher.backOff(active.id) }
    }

    /// Notes a request whose answer may belong to another request.
    func misplace(_ active: ActiveRequest) { misplaced.append(active) }

    /// Removes and returns the requests whose answers may belong to others.
    /// Also returns requests that share a connection to the same host and have no answer yet: the
    /// connection may not speak HTTP/2.
    func takeMisplaced() -> [ActiveRequest] {
        guard !misplaced.isEmpty else { return [] }
        defer { misplaced = [] }
        let hosts = Set(misplaced.compactMap { $0.download?.nextHost })
        return running.values.filter { active in
            if active.isMisplaced { return true }
            guard active.sharesConnection, active.version == nil,
                let host = active.download?.nextHost
            else { return false }
            return hosts.contains(host)
        }
    }

    /// Notes a request whose bytes wait within libcurl.
    func hold(_ active: ActiveRequest) { heldBack.append(active) }
}

// MARK: Pauses

extension ActiveRequests {
    /// Stops the stall clocks of a download. A running request notices the pause when its next
    /// bytes come.
    func pause(_ id: Int) {
        for active in running.values where active.id == id {
            active.stall.end(at: asking.elapsed)
        }
    }

    /// Starts the stall clocks of a download again. The loop resumes the requests.
    func resume(_ id: Int) {
        for active in running.values where active.id == id {
            active.stall.reset()
            if active.isConnected { active.stall.begin(at: asking.elapsed) }
        }
    }

    /// Whether the loop could resume a request that was held back.
    var hasResumable: Bool { heldBack.contains(where: mayGoOn) }

    /// Removes and returns the requests that were held back. The caller calls `goOn` for each.
    func takeHeldBack() -> [ActiveRequest] {
        guard !heldBack.isEmpty else { return [] }
        defer { heldBack = [] }
        return heldBack
    }

    /// Resumes a request that was held back, or keeps it for later.
    /// Returns the end of a request that has ended. Returns nil if the request goes on.
    func goOn(_ active: ActiveRequest, mayRead: Bool) -> WireEnd? {
        guard active.isHeldBack, isRunning(active) else { return nil }
        guard mayRead, mayGoOn(active) else {
            heldBack.append(active)
            return nil
        }
        active.isHeldBack = false
        return wire.resume(active)
    }

    /// Whether a held-back request still runs, and its download may receive more bytes.
    private func mayGoOn(_ active: ActiveRequest) -> Bool {
        guard active.isHeldBack, isRunning(active), let download = active.download
        else { return false }
        return !download.isPaused && !download.hasSpentAll
    }
}
