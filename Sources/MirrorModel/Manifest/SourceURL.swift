/// The address of a resource's bytes: an absolute http, https or file URL (RFC 3986).
///
/// The parser is strict, and requests are built from the parsed parts, so that the transport cannot
/// read another host out of the same text.
public struct SourceURL: Sendable, Hashable {
    let authority: URLAuthority
    /// The whole URL without user information, as it is requested; it may hold secrets in its query.
    ///
    /// Most URLs have no query. Their requests, keys and events then share this text.
    public let requestText: String
    /// The bytes in front of the path, and those up to its end.
    private let (pathStart, pathEnd): (Int, Int)

    /// - Parameter pathAndQuery: as a request has them; the path ends at the first question mark.
    init(_ authority: URLAuthority, pathAndQuery: String) {
        self.init(authority, requestText: authority.site + pathAndQuery)
    }

    /// - Parameter requestText: the authority's origin, the path and the query.
    init(_ authority: URLAuthority, requestText: String) {
        self.authority = authority
        self.requestText = requestText
        let start = authority.site.utf8.count
        var text = requestText
        pathEnd = text.withUTF8 { $0[start...].firstIndex(of: UInt8(ascii: "?")) ?? $0.count }
        pathStart = start
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
        String(decoding: requestText.utf8.prefix(pathEnd).dropFirst(pathStart), as: UTF8.self)
    }
    /// The query without its `?`; nil when there is none.
    public var query: String? {
        if pathEnd == requestText.utf8.count { return nil }
        return String(decoding: requestText.utf8.dropFirst(pathEnd + 1), as: UTF8.self)
    }

    /// The origin that credentials and headers of this URL belong to.
    public var origin: Origin { authority.origin }

    /// Origin and path, without query or user information: safe to print and to store.
    public var withoutSecrets: String {
        if pathEnd == requestText.utf8.count { return requestText }
        return String(decoding: requestText.utf8.prefix(pathEnd), as: UTF8.self)
    }

    /// The path and, after a question mark, the query.
    var pathAndQuery: String { withPathAndQuery { String(decoding: $0, as: UTF8.self) } }

    /// The bytes in front of the path, if this URL differs from the other in its path only, and no byte
    /// of the path is percent-encoded; nil if not.
    package func plainPath(besides other: SourceURL) -> Int? {
        guard authority === other.authority || authority.site == other.authority.site,
            pathEnd == requestText.utf8.count, other.pathEnd == other.requestText.utf8.count
        else { return nil }
        var text = requestText
        return text.withUTF8 { $0[pathStart...].contains(UInt8(ascii: "%")) } ? nil : pathStart
    }

    /// Lends the bytes of the path and the query; they are not valid afterwards.
    func withPathAndQuery<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var text = requestText
        return text.withUTF8 { body(UnsafeBufferPointer(rebasing: $0[pathStart...])) }
    }
}

extension SourceURL: CustomStringConvertible {
    /// The URL for people: user information and query left out, without a sign of them.
    public var description: String { withoutSecrets }
}
