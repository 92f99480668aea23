/// Scheme, user, host and port, shared by URLs that differ in path and query only.
struct URLAuthority: Sendable, Hashable {
    var scheme: URLScheme
    var userInfo: String?
    var host: String
    var port: UInt16
    /// Everything but the user, as text.
    let site: String

    init(_ url: SourceURL) {
        (scheme, userInfo, host, port) = (url.scheme, url.userInfo, url.host, url.port)
        site = url.site
    }

    /// The origin, without the user.
    var origin: Origin { Origin(scheme: scheme, host: host, port: port) }

    /// Makes a URL of this authority from its path and, after a question mark, its query.
    func url(_ rest: String) -> SourceURL {
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        return SourceURL(
            scheme: scheme, userInfo: userInfo, host: host, port: port,
            path: mark.map { String(rest[..<$0]) } ?? rest,
            query: mark.map { String(rest[rest.utf8.index(after: $0)...]) }, site: site)
    }
}
