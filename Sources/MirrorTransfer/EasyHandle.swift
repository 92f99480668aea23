internal import CCurl
internal import Glibc
internal import MirrorModel

/// One transfer of libcurl (libcurl-easy(3)); the handle is reused after the transfer ends.
final class EasyHandle {
    let handle: UnsafeMutableRawPointer
    private let parsedURL: ParsedURL
    private var fields: UnsafeMutablePointer<curl_slist>?
    /// The header lines with which a proxy is asked for a tunnel.
    private let tunnelFields: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>

    init() {
        // It fails only where malloc does (curl_easy_init(3)); Swift itself traps in that case.
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
            // libcurl takes the text only when it repeats a request, or when it is given no parsed
            // URL. One that it cannot parse fails with its own words.
            _ = ccurl_set_text(handle, CURLOPT_URL, text)
            let isParsed = parsedURL.parse(url, text: text)
            set(CURLOPT_CURLU, pointer: isParsed ? UnsafeMutableRawPointer(parsedURL.handle) : nil)
        }
    }

    /// Makes libcurl forget a text.
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

    /// Has a callback called with each new TLS context, before its handshake.
    func set(contextCallback: ccurl_context_callback, data: UnsafeMutableRawPointer) {
        _ = ccurl_set_context_callback(handle, contextCallback, data)
    }

    /// The TLS session of the connection that the transfer has now; nil without TLS, after its end,
    /// and where libcurl has another TLS library than OpenSSL.
    var tls: UnsafeMutableRawPointer? { ccurl_tls(handle) }

    /// Whether a TLS session of this transfer's connection has agreed on HTTP/2.
    func choseHTTP2(_ tls: UnsafeMutableRawPointer) -> Bool { ccurl_tls_chose_http2(tls) }

    /// Frees the header lines of the request before; new ones must be handed over before the next.
    func dropFields() {
        curl_slist_free_all(fields)
        fields = nil
    }

    /// Adds a header line. libcurl takes `Name;` for a field with an empty value, and `Name:` to
    /// leave out one of its own fields.
    func add(field line: String) { fields = curl_slist_append(fields, line) }

    /// Adds a header line of the same form that is always the same.
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

    /// Hands over the header lines that were added.
    func useFields() { set(CURLOPT_HTTPHEADER, pointer: UnsafeMutableRawPointer(fields)) }

    /// Sets whether a proxy is asked for a tunnel with header lines of its own. One that is asked for
    /// the resource itself gets these beside those of the request (CURLOPT_HEADEROPT(3)).
    func usesTunnelFields(_ uses: Bool) {
        set(CURLOPT_PROXYHEADER, pointer: uses ? UnsafeMutableRawPointer(tunnelFields) : nil)
    }

    /// libcurl's description of the last error; may be empty.
    var errorDetail: String { String(cString: errorText) }

    /// libcurl's text for an error number.
    func words(for code: CURLcode) -> String {
        curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }

    /// The errno of the last call that failed.
    var systemError: Int { ccurl_get_long(handle, CURLINFO_OS_ERRNO) }

    /// Bytes of the request that were sent.
    var sentBytes: Int { ccurl_get_long(handle, CURLINFO_REQUEST_SIZE) }

    /// Resumes receiving after a callback has paused it (curl_easy_pause(3)). The bytes held back
    /// are delivered before this returns. An error ends the transfer, and the multi handle does not
    /// report that end.
    func resume() -> CURLcode { curl_easy_pause(handle, CURLPAUSE_CONT) }
}
