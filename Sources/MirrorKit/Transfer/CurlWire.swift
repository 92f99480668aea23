internal import CCurl
internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// Makes requests over libcurl: handles, their options, and the results of transfers.
final class CurlWire: Wire {
    private let settings: TransferSettings
    private let multis: MultiHandles
    let shared: SharedConnections
    /// Handles whose requests have ended, for reuse.
    private var idle: [CurlRequest] = []
    /// Requests that wait for a connection that they can share.
    private var waiting: [CurlRequest] = []
    /// The ends of requests whose connection could not be made.
    private var ends: [WireEnd] = []

    /// - Parameter signal: a signal that also ends a wait.
    init(_ configuration: Configuration, signal: WakeSignal) {
        settings = TransferSettings(configuration)
        shared = SharedConnections()
        multis = MultiHandles(
            connections: configuration.jobs, shared: shared, signal: signal)
    }

    func prepare(_ request: WireRequest, for active: ActiveRequest) throws(MirrorError) {
        let multi = try multis.handle(for: request.plan)
        let made =
            idle.popLast()
            ?? CurlRequest(
                multi: multi, shared: shared,
                publicAddressesOnly: settings.publicAddressesOnly)
        made.prepare(request, for: active, in: multi, settings: settings)
        active.connection = made
    }

    func begin(_ active: ActiveRequest) {
        guard let request = CurlWire.request(of: active) else { return }
        request.multi.add(request.easy)
    }

    func end(_ active: ActiveRequest) {
        guard let request = CurlWire.request(of: active) else { return }
        request.multi.remove(request.easy)
        if request.waitsForConnection { waiting.removeAll { $0 === request } }
        if !ends.isEmpty { ends.removeAll { $0.active === active } }
        request.release()
        active.connection = nil
        idle.append(request)
    }

    func resume(_ active: ActiveRequest) -> WireEnd? {
        guard let request = CurlWire.request(of: active) else { return nil }
        // The request may end while its bytes are delivered.
        return withExtendedLifetime(request) {
            let result = request.easy.resume()
            return result == CURLE_OK ? nil : request.end(result)
        }
    }

    func perform() {
        multis.perform()
        guard !waiting.isEmpty else { return }
        let ready = waiting.filter(\.mayGoOn)
        waiting.removeAll(where: \.mayGoOn)
        for request in ready {
            if let end = request.endWithoutConnection() { ends.append(end) } else { request.goOn() }
        }
    }

    func nextEnd() -> WireEnd? {
        if let end = ends.popLast() { return end }
        while let (handle, result) = multis.nextEnd() {
            guard let request = multis.request(of: handle) else { continue }
            if result != CURLE_OK, request.waitsForConnection, request.active?.version == nil {
                request.multi.remove(request.easy)
                waiting.append(request)
            } else if let end = request.end(result) {
                return end
            }
        }
        return nil
    }

    func endConnection(of active: ActiveRequest, ifSilentFor milliseconds: Int64) {
        CurlWire.request(of: active)?.endConnection(ifSilentFor: milliseconds)
    }

    func watchNetwork() { multis.watchNetwork() }

    func networkHasReturned() -> Bool { multis.networkHasReturned() }

    func wait(milliseconds: Int64) { multis.wait(milliseconds: milliseconds) }

    private static func request(of active: ActiveRequest) -> CurlRequest? {
        // Only this wire sets the connection.
        active.connection.map { unsafeDowncast($0, to: CurlRequest.self) }
    }
}

/// A handle of libcurl with the active request that receives its callbacks; one after another.
///
/// libcurl calls back inside `MultiHandle.perform` and `EasyHandle.resume`. There no handle may be
/// added to the multi handle or removed from it.
final class CurlRequest {
    let easy: EasyHandle
    private(set) unowned var multi: MultiHandle
    /// The request that runs; nil between two.
    private(set) var active: ActiveRequest?
    private let shared: SharedConnections
    private let publicAddressesOnly: Bool
    /// Whether the settings of every request are in place, and the last one left nothing beside.
    private var keepsSettings = false
    private var isSettledByNext = false
    /// How often libcurl began to send the request: again where a kept connection had died.
    private var sendings = 0
    /// Whether it was not sent, because another request is under way on its connection.
    private var wasKeptBack = false
    /// The number of the connection over which it is sent; nil before.
    private var connection: Int?
    private var isSecure = false
    /// Its URL where it may share a connection.
    private var sharedURL: SourceURL?
    /// Whether it got no socket, because a connection that it can share is being made.
    private(set) var waitsForConnection = false
    /// The host to which it makes a connection that others may share.
    private var making: Host?

    /// - Parameter shared: the one of the multi handle, which keeps it as long as its connections.
    init(multi: MultiHandle, shared: SharedConnections, publicAddressesOnly: Bool) {
        easy = multi.makeEasy()
        self.multi = multi
        self.shared = shared
        self.publicAddressesOnly = publicAddressesOnly
    }

    /// Prepares the handle for a request; this object must outlive it.
    func prepare(
        _ request: WireRequest, for active: ActiveRequest, in multi: MultiHandle,
        settings: TransferSettings
    ) {
        self.active = active
        self.multi = multi
        isSecure = request.plan.url.scheme == .https
        sendings = 0
        wasKeptBack = false
        waitsForConnection = false
        sharedURL = request.mayShareConnection ? request.plan.url : nil
        if !keepsSettings {
            easy.reset()
            settings.prepare(easy)
            connect()
        }
        // A request that does not end well leaves more behind than these settings.
        keepsSettings = false
        isSettledByNext = settings.prepare(easy, for: request)
    }

    /// Forgets the request, which has been removed from the multi handle.
    func release() {
        endMaking(hasFailed: false)
        leaveConnection()
        active = nil
    }

    /// Registers the callbacks with the handle.
    private func connect() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        easy.set(CURLOPT_PRIVATE, pointer: context)
        easy.set(CURLOPT_HEADERFUNCTION, callback: headerCallback)
        easy.set(CURLOPT_HEADERDATA, pointer: context)
        easy.set(CURLOPT_WRITEFUNCTION, callback: bodyCallback)
        easy.set(CURLOPT_WRITEDATA, pointer: context)
        easy.set(requestCallback: requestCallback)
        easy.set(CURLOPT_PREREQDATA, pointer: context)
        easy.set(socketCallback: socketCallback)
        easy.set(CURLOPT_OPENSOCKETDATA, pointer: context)
        easy.set(closingCallback: closingCallback)
        // A connection may be closed after its requests have ended.
        let shared = Unmanaged.passUnretained(shared).toOpaque()
        easy.set(CURLOPT_CLOSESOCKETDATA, pointer: shared)
        easy.set(contextCallback: contextCallback, data: shared)
    }

    /// Converts libcurl's result into the end of the request that runs.
    func end(_ result: CURLcode) -> WireEnd? {
        guard let active else { return nil }
        // libcurl counts its own repetitions over all requests of a handle until it is reset.
        keepsSettings = isSettledByNext && result == CURLE_OK && sendings == 1
        let wasSent = easy.sentBytes > 0
        endMaking(hasFailed: result != CURLE_OK)
        return WireEnd(
            active: active, failure: failure(result, of: active, wasSent: wasSent),
            wasSent: wasSent)
    }

    /// Begins to send the request over a connection; returns false to end it unsent instead.
    ///
    /// libcurl 7.88 puts a second request on a connection of HTTP/1.1 where another connection to
    /// the same host speaks HTTP/2, and then each of them may get the other's answer.
    fileprivate func begins(localPort: Int32) -> Bool {
        sendings += 1
        // From here on a failure is one of the request.
        waitsForConnection = false
        endMaking(hasFailed: false)
        leaveConnection()
        let tls = easy.tls
        let place = shared.began(
            self, localPort: localPort, tls: tls, choseHTTP2: tls.map(easy.choseHTTP2))
        switch place {
        case .unknown: active?.requestBegins()
        case .taken:
            wasKeptBack = true
            return false
        case .free(let number, let other):
            connection = number
            active?.isClosedByPeer = tls == nil ? nil : false
            active?.requestBegins(beside: (other as? CurlRequest)?.active)
        }
        return true
    }

    fileprivate func take(line: UnsafeRawBufferPointer) -> Bool {
        guard let active else { return false }
        let isFirst = active.version == nil
        let goesOn = active.take(line: line)
        if isFirst, let version = active.version, let connection {
            shared.answered(connection, in: version)
        }
        return goesOn
    }

    /// Begins once more, after it waited for a connection.
    func goOn() {
        waitsForConnection = false
        multi.add(easy)
    }

    /// Ends it after the connection that it waited for could not be made; nil where there is one.
    func endWithoutConnection() -> WireEnd? {
        guard let active, let sharedURL, shared.isUnmade(Host(sharedURL)) else { return nil }
        waitsForConnection = false
        let failure = TransportFailure(
            .connectFailed, "no connection: the one that it was to share could not be made",
            isPassing: true, wasSent: false)
        return WireEnd(active: active, failure: failure, wasSent: false)
    }

    /// Whether the connection that it waits for is made, or will not be.
    var mayGoOn: Bool {
        sharedURL.map { !shared.awaitsConnection(to: Host($0), for: self) } ?? true
    }

    /// Ends its connection if nothing came over it for so many milliseconds.
    func endConnection(ifSilentFor milliseconds: Int64) {
        if let connection { shared.end(connection, ifSilentFor: milliseconds) }
    }

    private func endMaking(hasFailed: Bool) {
        if let making { shared.endsMaking(making, by: self, hasFailed: hasFailed) }
        making = nil
    }

    private func leaveConnection() {
        if let connection { shared.ended(self, on: connection) }
        connection = nil
    }

    private func failure(
        _ result: CURLcode, of active: ActiveRequest, wasSent: Bool
    ) -> TransportFailure? {
        if result == CURLE_OK { return nil }
        if wasKeptBack { return .misplaced(wasSent: active.isConnected) }
        if active.refusedAddress, !active.isConnected {
            return TransportFailure(
                .privateAddress, "its address is not public", isPassing: false, wasSent: false)
        }
        if active.wantsCertificate, !active.hasAnswered {
            return .certificateWanted
        }
        return TransportFailure(
            result, words: easy.words(for: result), detail: easy.errorDetail,
            systemError: easy.systemError, wasSent: wasSent)
    }

    /// Opens a socket for this address; negative when that is forbidden or fails (socket(2)).
    fileprivate func open(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        guard !publicAddressesOnly || allows(address) else { return -1 }
        let host = sharedURL.map { Host($0) }
        // A server may refuse a hundred requests at once (GOAWAY). libcurl 7.88 would open a
        // connection for each of them.
        waitsForConnection = host.map { shared.awaitsConnection(to: $0, for: self) } ?? false
        if waitsForConnection { return -1 }
        let made = socket(
            address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
            address.pointee.protocol)
        if made >= 0 { shared.opened(made, to: host) }
        if let host {
            shared.makes(host, by: self)
            making = host
        }
        let lacksDescriptor = made < 0 && (errno == EMFILE || errno == ENFILE)
        if let active {
            active.hadSocket = active.hadSocket || made >= 0
            active.lacksDescriptor = lacksDescriptor
        }
        return made
    }

    private func allows(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        guard let start = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return false }
        // sin_addr and sin6_addr lie at these offsets of a socket address (ip(7), ipv6(7)). libcurl
        // keeps the whole address, which for IPv6 is longer than the `sockaddr` that it declares.
        let place: Range<Int>
        switch address.pointee.family {
        case AF_INET: place = start + 4..<start + 8
        case AF_INET6: place = start + 8..<start + 24
        default: return false
        }
        let bytes = UnsafeRawBufferPointer(start: address, count: place.upperBound)[place]
        let isAllowed = Host.isPublic(Array(bytes))
        if !isAllowed { active?.refusedAddress = true }
        return isAllowed
    }
}

extension CurlRequest: ConnectionUser {
    /// In the set for HTTP/1.1, and without TLS, libcurl begins a request on a connection only after
    /// the one before has ended. Where libcurl does not say, it may be under way.
    func isUnderWay(in tls: UnsafeRawPointer?) -> Bool {
        if multi.isHTTP1 || !isSecure { return false }
        return tls == nil || easy.tls.map { UnsafeRawPointer($0) } == tls
    }

    func peerCloses() { active?.isClosedByPeer = true }

    func isAskedForCertificate() { active?.wantsCertificate = true }
}

private func request(_ context: UnsafeMutableRawPointer?) -> CurlRequest? {
    context.map { Unmanaged<CurlRequest>.fromOpaque($0).takeUnretainedValue() }
}

private func activeRequest(_ context: UnsafeMutableRawPointer?) -> ActiveRequest? {
    request(context)?.active
}

private func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return request(context)?.take(line: line) == true ? line.count : -1
}

private func bodyCallback(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let body = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return switch activeRequest(context)?.take(body: body) {
    case .proceed: body.count
    case .pause: Int(CURL_WRITEFUNC_PAUSE)
    case .stop, nil: -1
    }
}

private func requestCallback(
    _ context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?,
    _: UnsafeMutablePointer<CChar>?, _: Int32, _ localPort: Int32
) -> Int32 {
    let maySend = request(context)?.begins(localPort: localPort)
    return maySend == false ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK
}

/// CURLOPT_SSL_CTX_FUNCTION.
private func contextCallback(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
    _ shared: UnsafeMutableRawPointer?
) -> CURLcode {
    if let easy, let context, let shared {
        ccurl_observe_tls(easy, context, shared, alertCallback, certificateCallback)
        let user = request(ccurl_get_pointer(easy, CURLINFO_PRIVATE))
        Unmanaged<SharedConnections>.fromOpaque(shared).takeUnretainedValue()
            .begins(UnsafeRawPointer(context), for: user)
    }
    return CURLE_OK
}

/// SSL_CTX_set_client_cert_cb(3ossl): there is no certificate, and the handshake goes on without one.
private func certificateCallback(
    _ tls: OpaquePointer?, _: UnsafeMutablePointer<OpaquePointer?>?,
    _: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let tls, let shared = ccurl_tls_data(tls), let context = SSL_get_SSL_CTX(tls) else {
        return 0
    }
    Unmanaged<SharedConnections>.fromOpaque(shared).takeUnretainedValue()
        .isAskedForCertificate(UnsafeRawPointer(context))
    return 0
}

/// SSL_CTX_set_info_callback(3ossl).
private func alertCallback(_ tls: OpaquePointer?, _ place: Int32, _ value: Int32) {
    guard ccurl_is_closing_notice(place, value), let tls, let shared = ccurl_tls_data(tls) else {
        return
    }
    Unmanaged<SharedConnections>.fromOpaque(shared).takeUnretainedValue()
        .peerCloses(UnsafeRawPointer(tls))
}

private func socketCallback(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address else { return -1 }
    return request(context)?.open(address) ?? -1
}

/// CURLOPT_CLOSESOCKETFUNCTION.
private func closingCallback(
    _ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t
) -> Int32 {
    if let context {
        Unmanaged<SharedConnections>.fromOpaque(context).takeUnretainedValue().closes(socket)
    }
    return close(socket)
}

/// The URL of a handle's request as libcurl has parsed it (libcurl-url(3)).
///
/// libcurl parses a text again for each request, and prints the result. Most requests of a handle differ
/// in their paths only, so only the path is replaced here.
final class ParsedURL {
    let handle: OpaquePointer
    /// The URL that the handle holds; nil when it holds none.
    private var held: SourceURL?

    init() {
        // It fails only where malloc does (curl_url(3)); Swift itself traps in that case.
        guard let handle = curl_url() else { preconditionFailure("curl_url") }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// Parses a URL; returns whether libcurl takes it.
    ///
    /// - Parameter text: the URL's request text.
    func parse(_ url: SourceURL, text: UnsafePointer<CChar>) -> Bool {
        let result: CURLUcode
        if let held, let path = url.plainPath(besides: held) {
            // libcurl 7.88 changes percent-encoded bytes of a path: it writes their digits in lower case.
            result = curl_url_set(handle, CURLUPART_PATH, text + path, 0)
        } else {
            result = curl_url_set(
                handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS))
        }
        let isTaken = result == CURLUE_OK
        held = isTaken ? url : nil
        return isTaken
    }
}

/// Translates libcurl's error numbers into transfer failures (libcurl-errors(3)).
extension TransportFailure {
    /// - Parameters:
    ///   - words: libcurl's text for the number.
    ///   - detail: the handle's error text, or an empty text.
    ///   - systemError: the errno of the last failed call.
    ///   - wasSent: whether a byte of the request was sent.
    init(
        _ code: CURLcode, words: String, detail: String, systemError: Int, wasSent: Bool
    ) {
        // "Unsupported proxy syntax in '…'" and the like quote the proxy's URL with its password.
        if detail.hasPrefix("Unsupported proxy") {
            self.init(
                .connectFailed,
                "the environment names a proxy that cannot be used; write http://host:port",
                isPassing: false, wasSent: false)
            return
        }
        if let status = TransportFailure.proxyRefusal(in: detail) {
            // 5xx: the proxy could not reach the server, which may pass.
            let isPassing = StatusCode.isPassing(status)
            self.init(
                .connectFailed,
                "the proxy answered \(status) and makes no connection to the server"
                    + (status == 407 ? ": it wants a name and a password" : ""),
                isPassing: isPassing, wasSent: false)
            return
        }
        let reason = Escaped(detail.isEmpty ? words : detail, limit: 160).description
        let (kind, isPassing) = TransportFailure.kind(
            of: code, detail: detail, systemError: systemError)
        self.init(
            kind, TransportFailure.cause(of: kind, detail: detail, reason: reason),
            isPassing: isPassing, wasSent: wasSent,
            mayBeProtocol: code == CURLE_SSL_CONNECT_ERROR && kind == .tlsFailed)
        isOfHTTP2 = code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM
    }

    /// The status with which a proxy refused to make a tunnel; nil where it did not.
    private static func proxyRefusal(in detail: String) -> Int? {
        let words = "CONNECT tunnel failed, response "
        guard detail.hasPrefix(words) else { return nil }
        return Int(detail.dropFirst(words.count).prefix { $0.isNumber })
    }

    /// A handshake or request that failed where the server had asked for a client certificate.
    static let certificateWanted = TransportFailure(
        .tlsFailed, "the server wants a client certificate, and none was given", isPassing: false,
        wasSent: false)

    /// The text that is reported for a failure.
    static func cause(of kind: FailureCode, detail: String, reason: String) -> String {
        switch kind {
        case .nameNotResolved: "the host's name was not resolved: \(reason)"
        case .connectFailed: "no connection: \(reason)"
        // OpenSSL reports this when the first bytes of the response are text.
        case .tlsFailed where detail.contains("wrong version number"):
            "the server does not speak TLS on this port; it may speak HTTP there: write http://, or the port of HTTPS"
        case .tlsFailed: "no safe connection: \(reason)"
        // The first bytes of the answer are no status line.
        case .malformedResponse where detail.contains("HTTP/0.9"):
            "the answer is not HTTP; the server may speak HTTPS on this port: then write https://"
        case .malformedResponse: "the answer is malformed: \(reason)"
        default: "the connection was lost: \(reason)"
        }
    }

    private static func kind(
        of code: CURLcode, detail: String, systemError: Int
    ) -> (FailureCode, isPassing: Bool) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return (.nameNotResolved, true)
        case CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_PROXY:
            return (.connectFailed, true)
        case CURLE_SSL_CONNECT_ERROR:
            // The handshake also fails with this number when the connection breaks during it.
            let isLoss =
                [Int(ECONNRESET), Int(EPIPE), Int(ETIMEDOUT)].contains(systemError)
                || detail.contains("SSL_ERROR_SYSCALL") || detail.contains("unexpected eof")
            return isLoss ? (.connectionLost, true) : (.tlsFailed, false)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            return (.tlsFailed, false)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_OUT_OF_MEMORY,
            CURLE_BAD_CONTENT_ENCODING, CURLE_URL_MALFORMAT:
            // A header line over 100 KiB is reported as memory that ran out.
            return (.malformedResponse, false)
        default: return (.connectionLost, true)
        }
    }
}
