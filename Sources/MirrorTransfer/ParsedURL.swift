internal import CCurl
internal import MirrorModel

/// The URL of a handle's request as libcurl has parsed it (libcurl-url(3)).
///
/// A text is parsed anew for each request, and what was parsed is printed. Most requests of a handle
/// differ in their paths only, and here nothing else is replaced.
final class ParsedURL {
    private let curl: UnsafePointer<ccurl>
    let handle: OpaquePointer
    /// The URL that the handle holds; nil when it holds none.
    private var held: SourceURL?

    init(_ curl: UnsafePointer<ccurl>) {
        self.curl = curl
        // It fails only where malloc does (curl_url(3)); Swift itself traps in that case.
        guard let handle = ccurl_url(curl) else { preconditionFailure("curl_url") }
        self.handle = handle
    }

    deinit { ccurl_url_cleanup(curl, handle) }

    /// Parses a URL; returns whether libcurl takes it.
    ///
    /// - Parameter text: the URL's request text.
    func parse(_ url: SourceURL, text: UnsafePointer<CChar>) -> Bool {
        let isTaken: Bool
        if let held, let path = url.plainPath(besides: held) {
            isTaken = ccurl_url_set_path(curl, handle, text + path)
        } else {
            isTaken = ccurl_url_parse(curl, handle, text)
        }
        held = isTaken ? url : nil
        return isTaken
    }
}
