/// The redirects of one request to a source so far, and what the next request still carries.
///
/// The transport follows no redirect by itself: it would let headers cross origins, and it cannot
/// forbid the step from https to http.
package struct Redirection: Sendable, Hashable {
    /// The greatest number of hops.
    package static let limit = 10

    /// The URL of the next request.
    package private(set) var url: SourceURL
    /// Whether a redirect entered another origin.
    ///
    /// From then on no request carries anything of the manifest, not even when a later hop leads
    /// back.
    package private(set) var hasLeftOrigin = false
    /// Whether the next request still carries the body of a POST.
    package private(set) var isPost: Bool
    /// The number of redirects followed.
    package private(set) var hops = 0

    /// Begins at a source.
    package init(url: SourceURL, isPost: Bool) {
        self.url = url
        self.isPost = isPost
    }

    /// Follows one redirect; throws the reason when it must not be followed.
    package mutating func follow(location: String, status: Int) throws(Refusal) {
        guard hops < Redirection.limit else {
            throw Refusal(
                .tooManyRedirects, "the server redirected more than \(Redirection.limit) times",
                status: status)
        }
        let next: SourceURL
        do { next = try SourceURL(location, relativeTo: url) } catch {
            throw refused("to an address that cannot be read", status)
        }
        guard next.scheme != .file else { throw refused("to a file", status) }
        guard url.scheme == .http || next.scheme == .https else {
            throw refused("from https to http", status)
        }
        let crosses = next.origin != url.origin
        if isPost {
            if status == 307 || status == 308 {
                guard !crosses else { throw refused("a POST to another origin", status) }
            } else {
                isPost = false
            }
        }
        if crosses { hasLeftOrigin = true }
        hops += 1
        url = next
    }

    private func refused(_ what: String, _ status: Int) -> Refusal {
        Refusal(.redirectRefused, "the server redirects \(what)", status: status)
    }
}
