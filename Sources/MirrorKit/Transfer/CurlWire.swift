internal import CCurl
internal import CLinux
internal import Glibc

/// The wire over libcurl: makes requests, and reports their responses and ends.
final class CurlWire: Wire {
    private let settings: TransferSettings
    private let multis: MultiHandles
    let shared: SharedConnections
    /// Handles whose requests have ended, for reuse.
    private var idle: [CurlRequest] = []
    /// Requests that wait for a connection that they can share.
    private var waiting: [CurlRequest] = []
    /// The ends of requests whose connection could not be made. `nextEnd` returns them.
    private var ends: [WireEnd] = []

    /// - Parameter signal: a signal that also ends `wait`.
    init(_ configuration: Configuration, signal: WakeSignal) {
        settings = TransferSettings(configuration)
        shared = SharedConnections()
        multis = MultiHandles(
            connections: configuration.jobs, shared: shared, signal: signal)
    }

    func prepare(_ active: ActiveRequest) throws(MirrorError) {
        let multi = try multis.handle(for: active.plan)
        let made =
            idle.popLast()
            ?? CurlRequest(
                multi: multi, shared: shared,
                publicAddressesOnly: settings.publicAddressesOnly)
        made.prepare(active, in: multi, settings: settings)
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
        // The callbacks may end the request while libcurl delivers its bytes, so this keeps it
        // alive.
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
        // Only this wire sets `connection`, always to a `CurlRequest`, so the cast is safe.
        active.connection.map { unsafeDowncast($0, to: CurlRequest.self) }
    }
}

/// A handle of libcurl, with the active request that receives its callbacks.
///
/// The handle serves one request after another. libcurl calls back inside `MultiHandle.perform` and
/// `EasyHandle.resume`. A callback must not add a handle to the multi handle, or remove one.
final class CurlRequest {
    let easy: EasyHandle
    private(set) unowned var multi: MultiHandle
    /// The request that runs. `nil` means that the handle is idle.
    private(set) var active: ActiveRequest?
    private let shared: SharedConnections
    private let publicAddressesOnly: Bool
    /// `keepsSettings`: the handle needs no reset, because the last request left no options of its
    /// own.
    /// `isSettledByNext`: the next request will overwrite every option that this request sets.
    private var keepsSettings = false
    private var isSettledByNext = false
    /// How often libcurl began to send the request. It sends again if a kept connection had died.
    private var sendings = 0
    /// Whether the request was not sent, because its connection carries another request.
    private var wasKeptBack = false
    /// The number of the request's connection. `nil` means that it has no known connection yet.
    private var connection: Int?
    private var isSecure = false
    /// The URL of a request that may share a connection. `nil` means that the request may not.
    private var sharedURL: SourceURL?
    /// Whether the request got no socket, because another request makes a connection to share.
    private(set) var waitsForConnection = false
    /// The host to which this request makes a connection that others may share.
    private var making: Host?

    /// - Parameter shared: the object that `multi` keeps alive as long as its connections.
    init(multi: MultiHandle, shared: SharedConnections, publicAddressesOnly: Bool) {
        easy = multi.makeEasy()
        self.multi = multi
        self.shared = shared
        self.publicAddressesOnly = publicAddressesOnly
    }

    /// Prepares the handle for a request.
    /// This object must outlive the request, because libcurl's callbacks hold no reference to it.
    func prepare(_ active: ActiveRequest, in multi: MultiHandle, settings: TransferSettings) {
        self.active = active
        self.multi = multi
        isSecure = active.plan.url.scheme == .https
        sendings = 0
        wasKeptBack = false
        waitsForConnection = false
        sharedURL = active.mayShareConnection ? active.plan.url : nil
        if !keepsSettings {
            easy.reset()
            settings.prepare(easy)
            connect()
        }
        // A failed request may leave other options set, so only `end` sets the flag again.
        keepsSettings = false
        isSettledByNext = settings.prepare(easy, for: active)
    }

    /// Forgets the request after the multi handle has removed its handle.
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
        // libcurl may close a connection after its requests have ended, so these get `shared`.
        let shared = Unmanaged.passUnretained(shared).toOpaque()
        easy.set(CURLOPT_CLOSESOCKETDATA, pointer: shared)
        easy.set(contextCallback: contextCallback, data: shared)
    }

    /// Converts libcurl's result into the end of the request that runs.
    /// Returns nil if no request runs.
    func end(_ result: CURLcode) -> WireEnd? {
        guard let active else { return nil }
        // libcurl counts its repetitions over all requests of a handle, until the handle is reset.
        keepsSettings = isSettledByNext && result == CURLE_OK && sendings == 1
        let wasSent = easy.sentBytes > 0
        endMaking(hasFailed: result != CURLE_OK)
        return WireEnd(
            active: active, failure: failure(result, of: active, wasSent: wasSent),
            wasSent: wasSent)
    }

    /// Notes that libcurl is about to send the request. Returns false to end it unsent.
    ///
    /// libcurl 7.88 puts a second request on a connection of HTTP/1.1 if another connection to the
    /// same host speaks HTTP/2. Then each of the two requests may get the other's answer.
    fileprivate func begins(localPort: Int32) -> Bool {
        sendings += 1
        // From here on, a failure belongs to the request and not to its connection.
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

    /// Starts the request again after its wait for a connection.
    func goOn() {
        waitsForConnection = false
        multi.add(easy)
    }

    /// Returns the end of a request that waited for a connection which could not be made.
    /// Returns nil if the request can start again.
    func endWithoutConnection() -> WireEnd? {
        guard let active, let sharedURL, shared.isUnmade(Host(sharedURL)) else { return nil }
        waitsForConnection = false
        let failure = TransportFailure(
            .connectFailed, "no connection: the one that it was to share could not be made",
            isPassing: true, wasSent: false)
        return WireEnd(active: active, failure: failure, wasSent: false)
    }

    /// Whether the wait is over: the connection was made, or could not be made.
    var mayGoOn: Bool {
        sharedURL.map { !shared.awaitsConnection(to: Host($0), for: self) } ?? true
    }

    /// Ends the request's connection if no byte came over it for so many milliseconds.
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

    /// Opens a socket for an address (socket(2)).
    /// Returns a negative number if the address is forbidden, the request must wait for a
    /// connection to share, or socket(2) fails.
    fileprivate func open(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
        if publicAddressesOnly, !isPublic(address) {
            active?.refusedAddress = true
            return -1
        }
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
}

extension CurlRequest: ConnectionUser {
    /// Whether this request may still be under way on the connection with this TLS session.
    ///
    /// In the set for HTTP/1.1, and without TLS, libcurl starts a request on a connection only
    /// after the last one has ended. If `tls` is nil for a request over TLS, libcurl does not
    /// report the session. The result is then true.
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

/// The callback of CURLOPT_SSL_CTX_FUNCTION: prepares a TLS context before its handshake.
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

/// The callback of SSL_CTX_set_client_cert_cb(3ossl): notes that the server asks for a certificate.
/// Returns 0, because mirror has no certificate. The handshake goes on without one.
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

/// The callback of SSL_CTX_set_info_callback(3ossl): notes that the peer sends nothing more.
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

/// The callback of CURLOPT_CLOSESOCKETFUNCTION: notes that a socket closes, and closes it.
private func closingCallback(
    _ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t
) -> Int32 {
    if let context {
        Unmanaged<SharedConnections>.fromOpaque(context).takeUnretainedValue().closes(socket)
    }
    return close(socket)
}

/// The URL of a handle's request, as libcurl has parsed it (libcurl-url(3)).
///
/// From a text, libcurl would parse and print the URL again for each request. Most requests of a
/// handle differ only in their paths, so `parse` then replaces only the path.
final class ParsedURL {
    let handle: OpaquePointer
    /// The URL that `handle` holds. `nil` means that it holds no URL.
    private var held: SourceURL?

    init() {
        // curl_url(3) fails only if malloc fails, and Swift itself traps in that case.
        guard let handle = curl_url() else { preconditionFailure("curl_url") }
        self.handle = handle
    }

    deinit { curl_url_cleanup(handle) }

    /// Parses a URL. Returns whether libcurl accepts it.
    ///
    /// - Parameter text: the URL's request text.
    func parse(_ url: SourceURL, text: UnsafePointer<CChar>) -> Bool {
        let result: CURLUcode
        if let held, let path = url.plainPath(besides: held) {
            // `plainPath` excludes paths with percent-encoded bytes, because libcurl 7.88 would
            // write their digits in lower case here.
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

    /// The status with which a proxy refused to make a tunnel. `nil` means that no proxy refused.
    private static func proxyRefusal(in detail: String) -> Int? {
        let words = "CONNECT tunnel failed, response "
        guard detail.hasPrefix(words) else { return nil }
        return Int(detail.dropFirst(words.count).prefix { $0.isNumber })
    }

    /// The failure of a request whose server asked for a client certificate. mirror has none.
    static let certificateWanted: TransportFailure = {
        var failure = TransportFailure(
            .tlsFailed, "the server wants a client certificate, and none was given",
            isPassing: false, wasSent: false)
        failure.wantsCertificate = true
        return failure
    }()

    /// The text that is reported for a failure.
    static func cause(of kind: FailureCode, detail: String, reason: String) -> String {
        switch kind {
        case .nameNotResolved: "the host's name was not resolved: \(reason)"
        case .connectFailed: "no connection: \(reason)"
        // OpenSSL reports this when the first bytes of the response are text.
        case .tlsFailed where detail.contains("wrong version number"):
            "the server does not speak TLS on this port; it may speak HTTP there: write http://, or the port of HTTPS"
        case .tlsFailed: "no safe connection: \(reason)"
        // libcurl mentions HTTP/0.9 when the first bytes of the answer are no status line.
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
            // libcurl also reports this number if the connection breaks during the handshake.
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
            // libcurl reports a header line over 100 KiB as CURLE_OUT_OF_MEMORY.
            return (.malformedResponse, false)
        default: return (.connectionLost, true)
        }
    }
}
