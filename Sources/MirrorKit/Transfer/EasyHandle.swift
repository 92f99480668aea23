internal import CCurl
internal import Glibc

/// A libcurl handle for one transfer at a time (libcurl-easy(3)), reused after a transfer ends.
final class EasyHandle {
    let handle: UnsafeMutableRawPointer
    private let parsedURL: ParsedURL
    private var fields: UnsafeMutablePointer<curl_slist>?
    /// The header lines of the request that asks a proxy for a tunnel.
    private let tunnelFields: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>

    init() {
        // curl_easy_init(3) fails only if malloc fails, and Swift itself traps in that case.
        guard let handle = curl_easy_init() else { preconditionFailure("curl_easy_init") }
        self.handle = handle
        parsedURL = ParsedURL()
        tunnelFields = EasyHandle.append(TransferSettings.userAgent, to: nil)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(fields)
        curl_slist_free_all(tunnelFields)
        errorText.deallocate()
    }

    /// Resets all options; connections, names and TLS sessions stay with the multi handle.
    func reset() {
        curl_easy_reset(handle)
        dropFields()
        errorText.pointee = 0
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
    }

    func set(_ option: CURLoption, _ value: Int) {
        _ = ccurl_set_long(handle, option, value)
    }

    func set(_ option: CURLoption, _ value: String) {
        _ = ccurl_set_text(handle, option, value)
    }

    /// Sets the URL of the request.
    func set(url: SourceURL) {
        url.requestText.withCString { text in
            // libcurl uses the text only to repeat a request, or if it gets no parsed URL. If the
            // text is no valid URL, libcurl fails with its own error text.
            _ = ccurl_set_text(handle, CURLOPT_URL, text)
            let isParsed = parsedURL.parse(url, text: text)
            set(CURLOPT_CURLU, pointer: isParsed ? UnsafeMutableRawPointer(parsedURL.handle) : nil)
        }
    }

    /// Sets a text option to NULL, so that libcurl uses no text for this option.
    func clear(_ option: CURLoption) { _ = ccurl_set_text(handle, option, nil) }

    func set(_ option: CURLoption, offset: Int64) {
        _ = ccurl_set_offset(handle, option, Int(offset))
    }

    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        _ = ccurl_set_pointer(handle, option, pointer)
    }

    func set(_ option: CURLoption, callback: ccurl_bytes_callback) {
        _ = ccurl_set_bytes_callback(handle, option, callback)
    }

    func set(socketCallback: curl_opensocket_callback) {
        _ = ccurl_set_socket_callback(handle, socketCallback)
    }

    func set(closingCallback: curl_closesocket_callback) {
        _ = ccurl_set_closing_callback(handle, closingCallback)
    }

    func set(requestCallback: curl_prereq_callback) {
        _ = ccurl_set_request_callback(handle, requestCallback)
    }

    /// Makes libcurl call a callback with each new TLS context, before the handshake.
    func set(contextCallback: ccurl_context_callback, data: UnsafeMutableRawPointer) {
        _ = ccurl_set_context_callback(handle, contextCallback, data)
    }

    /// The TLS session of the transfer's current connection.
    /// `nil` means that there is no TLS, that the transfer has ended, or that libcurl has another
    /// TLS library than OpenSSL.
    var tls: UnsafeMutableRawPointer? { ccurl_tls(handle) }

    /// Whether a TLS session of this transfer's connection has agreed on HTTP/2.
    func choseHTTP2(_ tls: UnsafeMutableRawPointer) -> Bool { ccurl_tls_chose_http2(tls) }

    /// Frees the header lines of the last request.
    /// The caller must pass new lines with `useFields` before the next request starts.
    func dropFields() {
        curl_slist_free_all(fields)
        fields = nil
    }

    /// Adds a header line.
    /// libcurl reads `Name;` as a field with an empty value. `Name:` leaves out one of its own
    /// fields.
    func add(field line: String) { fields = curl_slist_append(fields, line) }

    /// Adds a constant header line, in the form that `add(field:)` takes.
    func add(line: StaticString) { fields = EasyHandle.append(line, to: fields) }

    private static func append(
        _ line: StaticString, to list: UnsafeMutablePointer<curl_slist>?
    ) -> UnsafeMutablePointer<curl_slist>? {
        // A static string has a NUL behind it.
        line.utf8Start.withMemoryRebound(to: CChar.self, capacity: line.utf8CodeUnitCount + 1) {
            curl_slist_append(list, $0)
        }
    }

    /// Adds a header line for a field that libcurl would not send itself.
    func add(field name: StaticString, value: String) {
        var value = value
        value.withUTF8 { value in
            let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            let length = name.count + 2 + value.count
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length + 1) { line in
                let colon = line.update(fromContentsOf: name)
                line[colon] = UInt8(ascii: ":")
                line[colon + 1] = UInt8(ascii: " ")
                _ = line[(colon + 2)...].update(fromContentsOf: value)
                line[length] = 0
                line.withMemoryRebound(to: CChar.self) {
                    fields = curl_slist_append(fields, $0.baseAddress)
                }
            }
        }
    }

    /// Passes the added header lines to libcurl.
    func useFields() { set(CURLOPT_HTTPHEADER, pointer: UnsafeMutableRawPointer(fields)) }

    /// Sets whether libcurl sends `tunnelFields` to a proxy.
    /// Without a tunnel, libcurl would add these lines to those of the request itself, because the
    /// proxy then gets that request (CURLOPT_HEADEROPT(3)).
    func usesTunnelFields(_ uses: Bool) {
        set(CURLOPT_PROXYHEADER, pointer: uses ? UnsafeMutableRawPointer(tunnelFields) : nil)
    }

    /// libcurl's description of the last error; may be empty.
    var errorDetail: String { String(cString: errorText) }

    /// Returns libcurl's text for an error number.
    func words(for code: CURLcode) -> String {
        curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }

    /// The errno of the last system call that failed.
    var systemError: Int { ccurl_get_long(handle, CURLINFO_OS_ERRNO) }

    /// Bytes of the request that were sent.
    var sentBytes: Int { ccurl_get_long(handle, CURLINFO_REQUEST_SIZE) }

    /// Resumes receiving after a callback has paused it (curl_easy_pause(3)).
    /// libcurl delivers the bytes that it held back before this call returns. An error ends the
    /// transfer, and the multi handle does not report that end.
    func resume() -> CURLcode { curl_easy_pause(handle, CURLPAUSE_CONT) }
}

/// Sets libcurl's options: those that are the same for every request, and those of one request.
struct TransferSettings: Sendable {
    private let connectTimeout: Int
    private let stallTimeout: Int
    private let certificateAuthorities: String?
    private let netrc: String?
    private let clientCertificates: [Origin: String]
    private let clientKeys: [Origin: String]
    private let bufferSize: Int
    /// The User-Agent line of every request.
    static let userAgent: StaticString = "User-Agent: mirror"
    /// Size of libcurl's buffer for a short body and its head, in bytes.
    /// libcurl allocates the buffer for each transfer. A small buffer comes from freed memory, and
    /// a large one from the kernel.
    private static let shortBufferSize = 12 << 10
    /// Maximum length of a short body, in bytes.
    private static let longestShort: Int64 = 8 << 10
    /// The variables in which libcurl finds a proxy for http and https (CURLOPT_PROXY(3)).
    private static let proxyNames = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
    ]
    private let namesProxy: Bool
    /// Whether connections are allowed to public addresses only.
    let publicAddressesOnly: Bool

    init(_ configuration: Configuration) {
        connectTimeout = Int(clamping: configuration.transfer.connectTimeout.wholeSeconds) * 1000
        stallTimeout = Int(clamping: configuration.transfer.stallTimeout.wholeSeconds)
        certificateAuthorities = configuration.cacert
        netrc = configuration.netrcFile
        (clientCertificates, clientKeys) = (configuration.cert, configuration.key)
        publicAddressesOnly = configuration.publicOnly
        namesProxy = TransferSettings.proxyNames.contains { getenv($0) != nil }
        // Under a rate limit, small reads make the pauses between them short.
        bufferSize =
            configuration.limitRate?.least.map { Int(max(4096, min(256 << 10, $0 / 16))) } ?? 256
            << 10
    }

    /// Sets the options that are the same for every request, on a new or reset handle.
    func prepare(_ easy: EasyHandle) {
        easy.set(CURLOPT_PATH_AS_IS, 1)
        easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        easy.set(CURLOPT_FOLLOWLOCATION, 0)
        easy.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_QUICK_EXIT, 1)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
        // By default, libcurl keeps an address for a minute. The tries would then miss a host that
        // has moved.
        easy.set(CURLOPT_DNS_CACHE_TIMEOUT, 5)
        // Without this option, libcurl would look for a proxy in the environment at every request.
        if !namesProxy { easy.set(CURLOPT_NOPROXY, "*") }
        prepareTrust(easy)
    }

    /// Sets the options that differ from request to request.
    ///
    /// Returns whether the next request sets all these options again. If so, the handle needs no
    /// reset before that request.
    func prepare(_ easy: EasyHandle, for request: ActiveRequest) -> Bool {
        let (plan, source) = (request.plan, request.source)
        easy.set(url: plan.url)
        easy.set(
            CURLOPT_HTTP_VERSION,
            Int(plan.usesHTTP1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
        let isShort = plan.expectedBytes.map { $0 <= TransferSettings.longestShort } ?? false
        easy.set(
            CURLOPT_BUFFERSIZE,
            isShort ? min(bufferSize, TransferSettings.shortBufferSize) : bufferSize)
        easy.set(CURLOPT_FRESH_CONNECT, request.isAlone ? 1 : 0)
        // Requests to one host wait for its first connection, to share it when it is HTTP/2.
        easy.set(CURLOPT_PIPEWAIT, request.mayShareConnection ? 1 : 0)
        // The fields and the signature must be of the same keys.
        let keys = plan.carriesCredentials ? source.signer?.keys : nil
        prepareFields(easy, plan: plan, source: source, keys)
        var hasCredentials = prepareCredentials(easy, plan: plan, source: source, keys)
        if presentCertificate(easy, to: plan.url) { hasCredentials = true }
        if plan.isHead { easy.set(CURLOPT_NOBODY, 1) }
        if plan.isPost, let postBody = request.postBody { preparePost(easy, body: postBody) }
        return !hasCredentials && !plan.isHead && !plan.isPost
    }

    /// Sets all options of a request that puts `size` bytes at a URL, or asks for its head if nil.
    ///
    /// - Parameters:
    ///   - sha256: the digest of the bytes.
    ///   - signer: signs the request, if the store is in a bucket of S3.
    func preparePush(
        _ easy: EasyHandle, to url: SourceURL, size: Int64?, sha256: Digest?, signer: S3Signer?
    ) {
        easy.reset()
        prepare(easy)
        easy.set(url: url)
        // A body of HTTP/2 costs both sides more.
        easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        if let signer, let keys = signer.keys {
            sign(easy, by: signer, with: keys)
            addSignedFields(easy, of: keys, sha256: size == nil ? nil : sha256)
        } else {
            easy.add(line: TransferSettings.userAgent)
        }
        easy.usesTunnelFields(url.scheme == .https)
        easy.useFields()
        easy.set(CURLOPT_LOW_SPEED_LIMIT, 1024)
        easy.set(CURLOPT_LOW_SPEED_TIME, stallTimeout)
        if signer == nil, let netrc {
            easy.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
            easy.set(CURLOPT_NETRC_FILE, netrc)
        }
        _ = presentCertificate(easy, to: url)
        guard let size else { return easy.set(CURLOPT_NOBODY, 1) }
        easy.set(CURLOPT_UPLOAD, 1)
        easy.set(CURLOPT_INFILESIZE_LARGE, offset: size)
    }

    private func prepareTrust(_ easy: EasyHandle) {
        easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // AES-128 costs less than AES-256 and is as safe here.
        easy.set(
            CURLOPT_TLS13_CIPHERS,
            "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")
        guard let certificateAuthorities else { return }
        easy.set(CURLOPT_CAINFO, certificateAuthorities)
        // Without this call, libcurl would trust the default folder in addition to the file.
        easy.clear(CURLOPT_CAPATH)
    }

    /// Sets the client certificate of a URL's origin. Returns false if the origin has none.
    private func presentCertificate(_ easy: EasyHandle, to url: SourceURL) -> Bool {
        guard !clientCertificates.isEmpty, let path = clientCertificates[url.origin] else {
            return false
        }
        easy.set(CURLOPT_SSLCERT, path)
        easy.set(CURLOPT_SSLKEY, clientKeys[url.origin] ?? path)
        // Without a password OpenSSL would ask for that of an encrypted key on the terminal.
        easy.set(CURLOPT_KEYPASSWD, "")
        return true
    }

    /// Sets the name and password, or the netrc file that may have them.
    /// Returns whether the request may carry a name and a password.
    private func prepareCredentials(
        _ easy: EasyHandle, plan: RequestPlan, source: PreparedSource, _ keys: S3Signer.Keys?
    ) -> Bool {
        guard plan.carriesCredentials else { return false }
        if let signer = source.signer {
            guard let keys else { return false }
            sign(easy, by: signer, with: keys)
        } else if let credentials = source.url.credentials {
            easy.set(CURLOPT_USERNAME, credentials.user)
            easy.set(CURLOPT_PASSWORD, credentials.password)
        } else if let netrc {
            easy.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
            easy.set(CURLOPT_NETRC_FILE, netrc)
        } else {
            return false
        }
        return true
    }

    /// Makes libcurl sign a request to S3.
    private func sign(_ easy: EasyHandle, by signer: S3Signer, with keys: S3Signer.Keys) {
        easy.set(CURLOPT_AWS_SIGV4, signer.scheme)
        easy.set(CURLOPT_USERNAME, keys.id)
        easy.set(CURLOPT_PASSWORD, keys.secret)
        // libcurl signs the header lines that it gets, and proxies may change this one.
        easy.set(CURLOPT_USERAGENT, "mirror")
    }

    /// The fields that S3 wants in a signed request.
    ///
    /// - Parameter sha256: the digest of the body; nil for a request without one.
    private func addSignedFields(
        _ easy: EasyHandle, of keys: S3Signer.Keys, sha256: Digest? = nil
    ) {
        easy.add(
            field: "x-amz-content-sha256: "
                + (sha256?.hex ?? ByteHasher.digest(.sha256, of: []).hex))
        if let token = keys.token { easy.add(field: "x-amz-security-token: " + token) }
    }

    private func prepareFields(
        _ easy: EasyHandle, plan: RequestPlan, source: PreparedSource, _ keys: S3Signer.Keys?
    ) {
        easy.dropFields()
        if let keys { addSignedFields(easy, of: keys) }
        // libcurl would format CURLOPT_USERAGENT into a line for every request, which costs more.
        // The request for a tunnel carries `tunnelFields` instead of these lines.
        if keys == nil, !plan.carriesCredentials || !source.namesUserAgent {
            easy.add(line: TransferSettings.userAgent)
        }
        easy.usesTunnelFields(plan.url.scheme == .https)
        var cookies = [plan.cookie].compactMap { $0 }
        if plan.carriesCredentials {
            for field in source.headers {
                // A request has one Cookie field (RFC 6265 §5.4).
                if !cookies.isEmpty, field.name.lowercased() == "cookie" {
                    cookies.insert(field.value, at: 0)
                    continue
                }
                easy.add(
                    field: field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)")
            }
        }
        // A header line, because CURLOPT_ACCEPT_ENCODING would make libcurl decode the response.
        easy.add(line: "Accept-Encoding: identity")
        plan.eachField { easy.add(field: $0, value: $1) }
        if !cookies.isEmpty { easy.add(field: "Cookie: " + cookies.joined(separator: "; ")) }
        if plan.isPost { easy.add(line: "Expect:") }
        easy.useFields()
    }

    private func preparePost(_ easy: EasyHandle, body: [UInt8]) {
        easy.set(CURLOPT_POST, 1)
        easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(body.count))
        var body = body
        // libcurl copies the bytes in this call.
        body.withUnsafeMutableBytes { bytes in
            easy.set(CURLOPT_COPYPOSTFIELDS, pointer: bytes.baseAddress)
        }
        // On a reused connection libcurl might send the request twice, so a POST gets a new one.
        easy.set(CURLOPT_FRESH_CONNECT, 1)
    }
}

/// Whether libcurl is about to connect to a public address (CURLOPT_OPENSOCKETFUNCTION(3)).
func isPublic(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
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
    return Host.isPublic(Array(bytes))
}
