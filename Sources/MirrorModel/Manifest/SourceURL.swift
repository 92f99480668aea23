/// The address of a resource's bytes: an absolute http, https or file URL (RFC 3986).
///
/// The parser is strict, and requests are built from the parsed parts, so that the transport cannot
/// read another host out of the same text.
public struct SourceURL: Sendable, Hashable {
    let authority: URLAuthority
    /// The path and, after a question mark, the query.
    let pathAndQuery: String
    /// The bytes that the path takes.
    private let pathLength: Int

    /// - Parameter pathAndQuery: as a request has them; the path ends at the first question mark.
    init(_ authority: URLAuthority, pathAndQuery: String) {
        self.authority = authority
        self.pathAndQuery = pathAndQuery
        var text = pathAndQuery
        pathLength = text.withUTF8 { $0.firstIndex(of: UInt8(ascii: "?")) ?? $0.count }
    }

    /// The scheme.
    public var scheme: URLScheme { authority.origin.scheme }
    /// User name and password as written, without the `@`; nil when there are none.
    public var userInfo: String? { authority.userInfo }
    /// The host, in lower case; an IPv6 address without brackets; empty for `file`.
    public var host: String { authority.origin.host }
    /// The port, with the scheme's default filled in.
    public var port: UInt16 { authority.origin.port }
    /// The path, percent-encoded, beginning with `/`, without dot segments.
    public var path: String {
        if pathLength == pathAndQuery.utf8.count { return pathAndQuery }
        return String(decoding: pathAndQuery.utf8.prefix(pathLength), as: UTF8.self)
    }
    /// The query without its `?`; nil when there is none.
    public var query: String? {
        if pathLength == pathAndQuery.utf8.count { return nil }
        return String(decoding: pathAndQuery.utf8.dropFirst(pathLength + 1), as: UTF8.self)
    }

    /// The origin that credentials and headers of this URL belong to.
    public var origin: Origin { authority.origin }

    /// Origin and path, without query or user information: safe to print and to store.
    public var withoutSecrets: String { authority.site + path }

    /// The whole URL without user information, as it is requested; it may hold secrets in its query.
    public var requestText: String { authority.site + pathAndQuery }
}

extension SourceURL: CustomStringConvertible {
    /// The URL for people: user information and query left out, without a sign of them.
    public var description: String { withoutSecrets }
}
