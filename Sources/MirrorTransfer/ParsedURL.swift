internal import CCurl
internal import MirrorModel

/// The URL of a handle's request as libcurl has parsed it (libcurl-url(3)).
///
/// A text is parsed anew for each request, and what was parsed is printed. Most requests of a handle
/// differ in their paths only, and here nothing else is replaced.
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
