internal import CCurl
internal import Glibc
internal import MirrorModel

/// Sets libcurl's options that are the same for every request of a run.
struct TransferSettings: Sendable {
    private let connectTimeout: Int
    private let certificateAuthorities: String?
    private let netrc: String?
    private let bufferSize: Int
    /// The line of every request that says who asks.
    static let userAgent: StaticString = "User-Agent: mirror"
    /// What one read takes of a short body, with the head before it. libcurl allocates its buffer for
    /// each transfer: one as small as this comes from what was freed before, and a large one from the
    /// kernel.
    private static let shortBufferSize = 12 << 10
    /// The longest of the short bodies, in bytes.
    private static let longestShort: Int64 = 8 << 10
    /// The variables in which libcurl finds a proxy for http and https (CURLOPT_PROXY(3)).
    private static let proxyNames = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
    ]
    private let namesProxy: Bool
    /// Whether connections are allowed to public addresses only.
    let publicAddressesOnly: Bool

    init(_ configuration: Configuration) {
        connectTimeout = Int(clamping: configuration.transfer.connectTimeout) * 1000
        certificateAuthorities = configuration.certificateAuthorities
        netrc = configuration.netrc
        publicAddressesOnly = configuration.publicAddressesOnly
        namesProxy = TransferSettings.proxyNames.contains { getenv($0) != nil }
        // Under a rate limit small reads keep the pauses between them short.
        bufferSize =
            configuration.rateLimit?.least.map { Int(max(4096, min(256 << 10, $0 / 16))) } ?? 256
            << 10
    }

    /// Sets what is the same for every request; the handle was just made or reset.
    func prepare(_ easy: EasyHandle) {
        easy.set(CURLOPT_PATH_AS_IS, 1)
        easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        easy.set(CURLOPT_FOLLOWLOCATION, 0)
        easy.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_QUICK_EXIT, 1)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
        // A host that has moved is found within the tries; libcurl keeps an address for a minute.
        easy.set(CURLOPT_DNS_CACHE_TIMEOUT, 5)
        // libcurl would read the environment for every request.
        if !namesProxy { easy.set(CURLOPT_NOPROXY, "*") }
        prepareTrust(easy)
    }

    /// Sets what differs from request to request.
    ///
    /// Returns whether the next request sets all of this anew, so that the handle need not be reset
    /// in between.
    func prepare(_ easy: EasyHandle, for request: WireRequest) -> Bool {
        let (plan, source) = (request.plan, request.source)
        easy.set(url: plan.url)
        easy.set(
            CURLOPT_HTTP_VERSION,
            Int(plan.usesHTTP1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
        let isShort = plan.expectedBytes.map { $0 <= TransferSettings.longestShort } ?? false
        easy.set(
            CURLOPT_BUFFERSIZE,
            isShort ? min(bufferSize, TransferSettings.shortBufferSize) : bufferSize)
        easy.set(CURLOPT_FRESH_CONNECT, request.opensConnection ? 1 : 0)
        // Requests to one host wait for its first connection, to share it when it is HTTP/2.
        easy.set(CURLOPT_PIPEWAIT, request.mayShareConnection ? 1 : 0)
        prepareFields(easy, plan: plan, source: source)
        let hasCredentials = prepareCredentials(easy, plan: plan, source: source)
        if plan.isHead { easy.set(CURLOPT_NOBODY, 1) }
        if plan.isPost, let postBody = request.postBody { preparePost(easy, body: postBody) }
        return !hasCredentials && !plan.isHead && !plan.isPost
    }

    private func prepareTrust(_ easy: EasyHandle) {
        easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // AES-128 costs less than AES-256 and is as safe here.
        easy.set(
            CURLOPT_TLS13_CIPHERS,
            "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")
        guard let certificateAuthorities else { return }
        easy.set(CURLOPT_CAINFO, certificateAuthorities)
        // The default folder would stay trusted beside the file.
        easy.clear(CURLOPT_CAPATH)
    }

    /// Returns whether the request may carry a name and a password.
    private func prepareCredentials(
        _ easy: EasyHandle, plan: RequestPlan, source: PreparedSource
    ) -> Bool {
        guard plan.carriesCredentials else { return false }
        if let credentials = source.url.credentials {
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

    private func prepareFields(_ easy: EasyHandle, plan: RequestPlan, source: PreparedSource) {
        easy.dropFields()
        // libcurl would print CURLOPT_USERAGENT into a line of its own first, for every request. To a
        // proxy it sends the lines of a tunnel's request instead of these.
        if !plan.carriesCredentials || !source.namesUserAgent {
            easy.add(line: TransferSettings.userAgent)
        }
        easy.usesTunnelFields(plan.url.scheme == .https)
        var cookies = [plan.draft.cookie].compactMap { $0 }
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
        // With CURLOPT_ACCEPT_ENCODING, libcurl would still decode the response.
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
        // On a reused connection libcurl might send the request twice.
        easy.set(CURLOPT_FRESH_CONNECT, 1)
    }
}
