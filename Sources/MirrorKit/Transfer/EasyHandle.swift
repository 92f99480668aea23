internal import CCurl
internal import Glibc

/// One transfer of libcurl (libcurl-easy(3)), used again for the next when it has ended.
final class EasyHandle {
    let handle: UnsafeMutableRawPointer
    private var fields: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>

    init() {
        guard let handle = curl_easy_init() else { preconditionFailure("curl_easy_init") }
        self.handle = handle
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(fields)
        errorText.deallocate()
    }

    /// Forgets all options; connections, names and TLS sessions stay with the multi handle.
    func reset() {
        curl_easy_reset(handle)
        curl_slist_free_all(fields)
        fields = nil
        errorText.pointee = 0
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
    }

    func set(_ option: CURLoption, _ value: Int) { _ = ccurl_set_long(handle, option, value) }

    func set(_ option: CURLoption, _ value: String?) { _ = ccurl_set_text(handle, option, value) }

    func set(_ option: CURLoption, offset: Int64) {
        _ = ccurl_set_offset(handle, option, Int(offset))
    }

    func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        _ = ccurl_set_pointer(handle, option, pointer)
    }

    func set(_ option: CURLoption, callback: ccurl_bytes_callback) {
        _ = ccurl_set_bytes_callback(handle, option, callback)
    }

    /// Adds a header line; libcurl takes `Name;` for a field with an empty value, and `Name:` for
    /// one of its own that is left out.
    func add(field line: String) { fields = curl_slist_append(fields, line) }

    /// Hands over the header lines that were added.
    func useFields() { set(CURLOPT_HTTPHEADER, pointer: UnsafeMutableRawPointer(fields)) }

    /// What the last error was, in libcurl's words; may be empty.
    var errorDetail: String { String(cString: errorText) }

    /// The errno of the last call that failed.
    var systemError: Int { ccurl_get_long(handle, CURLINFO_OS_ERRNO) }

    /// Bytes of the request that were sent.
    var sentBytes: Int { ccurl_get_long(handle, CURLINFO_REQUEST_SIZE) }

    /// Goes on receiving after a callback has paused it (curl_easy_pause(3)).
    func goOn() { curl_easy_pause(handle, CURLPAUSE_CONT) }
}
