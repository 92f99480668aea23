internal import CCurl
internal import Glibc
internal import MirrorModel

/// One request and its answer: what libcurl's callbacks see.
///
/// libcurl calls back on the transfer thread, inside `MultiHandle.perform` and `EasyHandle.goOn`, and
/// nothing may be added to or removed from the multi handle there. So the callbacks only take in bytes and note what
/// follows; the engine acts on it when libcurl says that the exchange has ended.
final class Exchange {
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
        func received(head: ResponseHead, on exchange: Exchange) -> Bool
        /// The connection stands and the request is on its way.
        func began(_ exchange: Exchange)
        /// Its bytes wait until it is let go on.
        func heldBack(_ exchange: Exchange)
        /// Bytes of a wanted body came.
        func received(bytes: UnsafeRawBufferPointer, on exchange: Exchange) -> Reply
    }

    /// What becomes of an exchange after bytes came.
    enum Reply {
        case goOn
        /// The bytes are not taken; they come again when the handle is let go on.
        case pause
        case stop
    }

    /// Why a callback of ours ended the exchange.
    enum Stop {
        case head(Refusal)
        case unwanted
        case listener
    }

    let id: Int
    let easy: EasyHandle
    private let multi: MultiHandle
    unowned let listener: any Listener
    private let publicAddressesOnly: Bool
    private var collector = HeadCollector()
    private var headerBytes = 0
    private var unwantedBytes: Int64 = 0
    private var wantsBody = false
    private var isDeclined = false
    private var declinedAt: Int64?

    /// Whether the connection stands and the request is on its way: from here the stall clock runs.
    private(set) var isAsking = false
    /// The port of its connection on this side; requests that share one share the connection.
    private(set) var localPort: Int32 = 0
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
    /// Why a callback ended the exchange, where one did.
    private(set) var stop: Stop?
    /// Whether an address was refused because it is not public.
    private(set) var refusedAddress = false
    /// Whether a socket was opened for it.
    private(set) var hasSocket = false
    /// Whether the process had no descriptor left for one.
    private(set) var lacksDescriptor = false

    init(
        id: Int, segment: Int? = nil, easy: EasyHandle, multi: MultiHandle,
        listener: any Listener, stall: StallClock, publicAddressesOnly: Bool
    ) {
        self.id = id
        self.segment = segment
        self.stall = stall
        self.easy = easy
        self.multi = multi
        self.listener = listener
        self.publicAddressesOnly = publicAddressesOnly
    }

    /// Puts the callbacks into the handle; the exchange must outlive its use.
    func connect() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        easy.set(CURLOPT_HEADERFUNCTION, callback: headerCallback)
        easy.set(CURLOPT_HEADERDATA, pointer: context)
        easy.set(CURLOPT_WRITEFUNCTION, callback: bodyCallback)
        easy.set(CURLOPT_WRITEDATA, pointer: context)
        easy.set(requestCallback: requestCallback)
        easy.set(CURLOPT_PREREQDATA, pointer: context)
        easy.set(socketCallback: socketCallback)
        easy.set(CURLOPT_OPENSOCKETDATA, pointer: context)
    }

    /// Makes the request.
    func begin() { multi.add(easy) }

    /// Ends it, however far it is; libcurl calls back no more.
    func end() { multi.remove(easy) }

    fileprivate func requestBegins(localPort: Int32) {
        isAsking = true
        self.localPort = localPort
        listener.began(self)
    }

    fileprivate func take(line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= Exchange.headerLimit else {
            let limit = Exchange.headerLimit >> 10
            stop = .head(
                Refusal(.malformedResponse, "its header lines are longer than \(limit) KiB"))
            return false
        }
        switch collector.take(line: line) {
        case .more: return true
        case .refused(let flaw):
            stop = .head(Refusal(.malformedResponse, "the answer cannot be trusted: \(flaw)"))
            return false
        case .head(let head):
            wantsBody = listener.received(head: head, on: self)
            isDeclined = !wantsBody
            if isDeclined, !Exchange.mayKeepConnection(after: head) { stop = .unwanted }
            return stop == nil
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
        guard isDeclined else { return false }
        let began = declinedAt ?? time
        declinedAt = began
        return time - began >= Exchange.unwantedPatience
    }

    fileprivate func take(body: UnsafeRawBufferPointer) -> Reply {
        if wantsBody {
            let reply = listener.received(bytes: body, on: self)
            if case .stop = reply { stop = .listener }
            if case .pause = reply {
                isHeldBack = true
                listener.heldBack(self)
            }
            if case .goOn = reply {
                arrivedBytes += body.count
                stall.receive(body.count)
            }
            return reply
        }
        arrivedBytes += body.count
        unwantedBytes += Int64(body.count)
        if unwantedBytes > Exchange.unwantedLimit { stop = .unwanted }
        return stop == nil ? .goOn : .stop
    }

    /// Opens a socket to this address; negative when that may not, or cannot be done (socket(2)).
    fileprivate func open(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        guard !publicAddressesOnly || allows(address) else { return -1 }
        let made = socket(
            address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol)
        hasSocket = hasSocket || made >= 0
        lacksDescriptor = made < 0 && (errno == EMFILE || errno == ENFILE)
        return made
    }

    private func allows(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        guard let start = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return false }
        // sin_addr and sin6_addr lie at these offsets of a socket address (ip(7), ipv6(7)). libcurl
        // keeps the whole of it, which for IPv6 is longer than the `sockaddr` that it declares.
        let place: Range<Int>
        switch address.pointee.family {
        case AF_INET: place = start + 4..<start + 8
        case AF_INET6: place = start + 8..<start + 24
        default: return false
        }
        let bytes = UnsafeRawBufferPointer(start: address, count: place.upperBound)[place]
        let isAllowed = AddressScope.isPublic(Array(bytes))
        if !isAllowed { refusedAddress = true }
        return isAllowed
    }
}

private func exchange(_ context: UnsafeMutableRawPointer?) -> Exchange? {
    context.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
}

private func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange(context)?.take(line: line) == true ? line.count : -1
}

private func bodyCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return switch exchange(context)?.take(body: body) {
    case .goOn: body.count
    case .pause: Int(CURL_WRITEFUNC_PAUSE)
    case .stop, nil: -1
    }
}

private func requestCallback(
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?,
    _: UnsafeMutablePointer<CChar>?, _: Int32, _ localPort: Int32
) -> Int32 {
    exchange(context)?.requestBegins(localPort: localPort)
    return CURL_PREREQFUNC_OK
}

private func socketCallback(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address else { return -1 }
    return exchange(context)?.open(address) ?? -1
}
