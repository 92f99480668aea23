/// Scheme, host and port: the scope of credentials and headers (RFC 6454 §4).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http`, `https`, `file` or `s3`.
    let scheme: URLScheme
    /// The host, in lower case; an IPv6 address without brackets; empty for `file`.
    public let host: String
    /// The port, with the scheme's default filled in; 0 for `file`.
    public let port: UInt16

    /// Whether connections to it are encrypted.
    package var isSecure: Bool { scheme == .https }

    /// The origin as text, e.g. `https://origin.example:8443`; a default port is left out.
    public var description: String {
        if scheme == .file { return "file://" }
        let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(scheme.rawValue)://\(host)" + (port == scheme.defaultPort ? "" : ":\(port)")
    }
}

extension Origin {
    /// Reads an origin such as `https://origin.example:8443`.
    ///
    /// Returns nil for a text with a path, a query, a user name, or another scheme than http(s).
    public init?(_ text: String) {
        guard let url = try? SourceURL(text), url.path == "/", url.query == nil,
            url.userInfo == nil, url.scheme == .http || url.scheme == .https
        else { return nil }
        self = url.origin
    }
}

/// The schemes that a source may have.
package enum URLScheme: String, Sendable, Hashable, CaseIterable {
    case http, https, file
    /// An object in a bucket of S3, which is asked for over http or https.
    case s3

    /// The port of a URL without one; 0 for `file`.
    var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https, .s3: 443
        case .file: 0
        }
    }
}

/// A host and port, to which limits, Retry-After and outages apply.
///
/// The host is that of the URL that is really requested, also after redirects.
struct Host: Hashable, Sendable, CustomStringConvertible {
    let name: String
    let port: UInt16

    init(_ url: SourceURL) {
        name = url.host
        port = url.port
    }

    init(_ origin: Origin) {
        name = origin.host
        port = origin.port
    }

    /// The host of transfers that request no server.
    static let none = Host(Origin(scheme: .file, host: "", port: 0))

    /// Reads the text that `description` writes. Returns nil for other text.
    init?(_ text: String) {
        guard let (name, port) = text[...].halves(atLast: ":"), let number = UInt16(port),
            !name.isEmpty
        else { return nil }
        self.name = String(name)
        self.port = number
    }

    /// The host as `name:port`, for errors.
    var description: String { "\(name):\(port)" }
}

extension Host {
    /// Whether an IP address, of 4 or 16 bytes in network order, belongs to the public Internet.
    ///
    /// Loopback, link-local, private and shared addresses do not belong to it. Neither does any
    /// other block that the special-purpose registries keep from global use (RFC 6890). The rule
    /// holds for IPv4, IPv6, and IPv4 inside IPv6.
    static func isPublic(_ address: [UInt8]) -> Bool {
        switch address.count {
        case 4: isPublicV4(address)
        case 16: isPublicV6(address)
        default: false
        }
    }

    private static func isPublicV4(_ a: [UInt8]) -> Bool {
        switch (a[0], a[1], a[2]) {
        case (0, _, _), (10, _, _), (127, _, _): false
        case (100, 64...127, _), (169, 254, _), (172, 16...31, _), (192, 168, _): false
        case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 18...19, _), (198, 51, 100): false
        case (203, 0, 113), (224..., _, _): false
        default: true
        }
    }

    private static func isPublicV6(_ a: [UInt8]) -> Bool {
        let tail = Array(a[12...])
        // Three ranges wrap an IPv4 address: ::ffff:a.b.c.d, NAT64 (RFC 6052) and 6to4 (RFC 3056).
        if a.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return isPublicV4(tail) }
        if a.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
            return isPublicV4(tail)
        }
        if a.starts(with: [0x20, 0x02]) { return isPublicV4(Array(a[2..<6])) }
        // Documentation (RFC 3849), Teredo (RFC 4380), ORCHID (RFC 4843, 7343), benchmarks.
        if a.starts(with: [0x20, 0x01, 0x0D, 0xB8]) { return false }
        if a.starts(with: [0x20, 0x01]), a[2] < 2 { return false }
        // Only 2000::/3 is allocated for global use.
        return a[0] & 0xE0 == 0x20
    }
}
