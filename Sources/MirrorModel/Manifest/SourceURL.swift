/// The address of a resource's bytes: an absolute http, https or file URL (RFC 3986).
///
/// The parser is strict, and requests are built from the parsed parts, so that the transport cannot
/// read another host out of the same text.
public struct SourceURL: Sendable, Hashable {
    /// The scheme.
    public let scheme: URLScheme
    /// User name and password as written, without the `@`; nil when there are none.
    public let userInfo: String?
    /// The host, in lower case; an IPv6 address without brackets; empty for `file`.
    public let host: String
    /// The port, with the scheme's default filled in.
    public let port: UInt16
    /// The path, percent-encoded, beginning with `/`, without dot segments.
    public let path: String
    /// The query without its `?`; nil when there is none.
    public let query: String?
    /// The origin as text: it is asked for several times a transfer, and many URLs share one.
    let site: String

    init(
        scheme: URLScheme, userInfo: String?, host: String, port: UInt16, path: String,
        query: String?, site: String? = nil
    ) {
        self.site = site ?? Origin(scheme: scheme, host: host, port: port).description
        self.scheme = scheme
        self.userInfo = userInfo
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// The origin that credentials and headers of this URL belong to.
    public var origin: Origin { Origin(scheme: scheme, host: host, port: port) }

    /// Origin and path, without query or user information: safe to print and to store.
    public var withoutSecrets: String { site + path }

    /// The whole URL without user information, as it is requested; it may hold secrets in its query.
    public var requestText: String { query.map { withoutSecrets + "?" + $0 } ?? withoutSecrets }
}

extension SourceURL: CustomStringConvertible {
    /// The URL for people: user information and query left out, without a sign of them.
    public var description: String { withoutSecrets }
}
