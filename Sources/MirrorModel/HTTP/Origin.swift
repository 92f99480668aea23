/// Scheme, host and port: the scope of credentials and headers (RFC 6454 §4).
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http`, `https` or `file`.
    public let scheme: URLScheme
    /// The host, in lower case; an IPv6 address without brackets; empty for `file`.
    public let host: String
    /// The port, with the scheme's default filled in; 0 for `file`.
    public let port: UInt16

    /// Takes the three parts as they are.
    public init(scheme: URLScheme, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The origin as text, e.g. `https://origin.example:8443`; a default port is left out.
    public var description: String {
        if scheme == .file { return "file://" }
        let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(scheme.rawValue)://\(host)" + (port == scheme.defaultPort ? "" : ":\(port)")
    }
}

/// The schemes that a source may have.
public enum URLScheme: String, Sendable, Hashable, CaseIterable {
    case http, https, file

    /// The port of a URL that names none; 0 for `file`.
    public var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        case .file: 0
        }
    }
}
