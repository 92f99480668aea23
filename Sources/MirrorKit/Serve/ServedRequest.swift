/// A request to a served tree, with the parts on which the response depends.
struct ServedRequest: Sendable, Hashable {
    /// A header field on which a response depends.
    enum Field: Int, Sendable, Hashable, CaseIterable {
        case accept, host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince, range

        /// Finds the field of a name, in any case. Returns nil for other fields.
        init?(_ name: UnsafeBufferPointer<UInt8>) {
            // The length alone rules out nearly every field.
            let field: Field? =
                switch name.count {
                case 4: .host
                case 5: .range
                case 6: .accept
                case 8: name[3] | 0x20 == UInt8(ascii: "m") ? .ifMatch : .ifRange
                case 13: .ifNoneMatch
                case 17: .ifModifiedSince
                case 19: .ifUnmodifiedSince
                default: nil
                }
            guard let field, zip(name, field.text.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
            else { return nil }
            self = field
        }

        private var text: String {
            switch self {
            case .accept: "accept"
            case .host: "host"
            case .ifMatch: "if-match"
            case .ifModifiedSince: "if-modified-since"
            case .ifNoneMatch: "if-none-match"
            case .ifRange: "if-range"
            case .ifUnmodifiedSince: "if-unmodified-since"
            case .range: "range"
            }
        }
    }

    /// The method, e.g. `GET`.
    var method: String
    /// The path of the target as it was sent.
    var path: String
    /// The name after which a listing continues, percent-encoded.
    /// It comes from the query `after=NAME`.
    var after: String?
    /// Whether the request's version of HTTP demands a Host field: 1.1 does, 1.0 does not.
    var needsHost = false
    private var fields: [Field: String] = [:]

    /// Creates a request without header fields.
    init(method: String, path: String, after: String? = nil) {
        self.method = method
        self.path = path
        self.after = after
    }

    /// The value of a field. The values of repeated fields are joined by commas (RFC 9110 §5.3).
    subscript(field: Field) -> String? { fields[field] }

    /// Whether the request has the Host field that HTTP demands (RFC 9112 §3.2).
    ///
    /// HTTP/1.1 demands one Host field, and HTTP/1.0 allows one.
    var namesOneHost: Bool {
        guard let host = self[.host] else { return !needsHost }
        return !host.utf8.contains(UInt8(ascii: ","))
    }

    /// Adds a header field.
    mutating func add(_ field: Field, _ value: String) {
        if let known = fields[field] {
            fields[field] = known + ", " + value
        } else {
            fields[field] = value
        }
    }

    /// Whether the client wants JSON more than HTML (RFC 9110 §12.5.1).
    var prefersJSON: Bool {
        guard let accept = self[.accept] else { return false }
        let ranges = accept.parts(at: ",").map { range in
            let parts = range.parts(at: ";").map { $0.trimmingSpaces().lowercased() }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            return (type: parts.first ?? "", quality: weight.map(ServedRequest.quality) ?? 1000)
        }
        func quality(_ type: String) -> Int {
            let named = ranges.first { $0.type == type } ?? ranges.first { $0.type == "*/*" }
            return named?.quality ?? 0
        }
        return quality("application/json") > quality("text/html")
    }

    /// Returns a weight from 0 to 1 in thousandths (RFC 9110 §12.4.2). Any other text counts as 0.
    private static func quality(_ text: Substring) -> Int {
        guard let number = Double(text), number >= 0, number <= 1 else { return 0 }
        return Int(number * 1000)
    }
}

/// What a request's target names in a served tree (RFC 9112 §3.2).
enum ServedPlace: Sendable, Hashable {
    /// The listing of a folder in an area, or of the root, whose path is empty.
    case folder(String)
    /// An area, without a slash at the end of its path.
    case area(Area)
    /// A file, or perhaps a folder without a slash at the end of its path.
    case file(Target)
    /// A file by the sha256 of its bytes.
    case digest(Digest)
    /// A name that no served file has: a hidden file, a part, or one that leads elsewhere.
    case nothing
    /// A text that cannot be the target of a request.
    case malformed

    /// Reads the path of a request's target as it was sent, without its query.
    ///
    /// Each segment is decoded once, and by itself. So no encoding turns a name into a slash, a NUL
    /// or a dot segment.
    init(path: some StringProtocol) {
        guard let segments = ServedPlace.segments(of: path) else {
            self = .malformed
            return
        }
        if segments.count == 2, segments[0] == "cas" {
            self = Digest(.sha256, hex: segments[1]).map { .digest($0) } ?? .nothing
            return
        }
        let isFolder = segments.last == ""
        let whole = (isFolder ? segments.dropLast() : segments[...]).joined(separator: "/")
        if isFolder, whole.isEmpty {
            self = segments.count == 1 ? .folder("") : .nothing
        } else if let area = Area(rawValue: whole) {
            self = isFolder ? .folder(whole) : .area(area)
        } else if let target = try? Target(whole) {
            self = isFolder ? .folder(target.path) : .file(target)
        } else {
            self = .nothing
        }
    }

    /// Returns the decoded segments behind the first slash.
    /// Returns nil if the text is no absolute path.
    ///
    /// A segment that cannot be a name becomes a dot segment, which no target has.
    private static func segments(of path: some StringProtocol) -> [String]? {
        var rest = Substring(path)
        // A server must accept the absolute form too (RFC 9112 §3.2.2).
        if rest.utf8.first != slash {
            for scheme in ["http://", "https://"] where rest.lowercased().hasPrefix(scheme) {
                let behind = rest.dropFirst(scheme.count)
                rest = behind.utf8.firstIndex(of: slash).map { behind[$0...] } ?? "/"
                break
            }
        }
        guard rest.utf8.first == slash else { return nil }
        var segments: [String] = []
        for segment in rest.dropFirst().parts(at: "/", keepingEmpty: true) {
            guard isWellFormed(segment) else { return nil }
            let bytes = PercentEncoding.decode(Array(segment.utf8))
            let name = String(validating: bytes, as: UTF8.self)
            segments.append(bytes.contains(slash) ? "." : name ?? ".")
        }
        return segments
    }

    /// Whether each `%` has two digits behind it, and no byte is a space or a control character.
    private static func isWellFormed(_ segment: Substring) -> Bool {
        var digits = 0
        for byte in segment.utf8 {
            if digits > 0 {
                guard Hex.value(of: byte) != nil else { return false }
                digits -= 1
            } else if byte == UInt8(ascii: "%") {
                digits = 2
            } else if byte <= 0x20 || byte == 0x7F {
                return false
            }
        }
        return digits == 0
    }
}

private let slash = UInt8(ascii: "/")

/// Where a server listens: an address of this machine and a port.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address, without brackets.
    var host: String
    /// The port. 0 means any free port.
    var port: UInt16

    /// Creates an address from a host and a port.
    package init(host: String = "127.0.0.1", port: UInt16 = 8080) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`. Returns nil for any other text.
    ///
    /// Names other than localhost are not resolved.
    package init?(_ text: String) {
        guard let (host, port) = text[...].halves(atLast: ":"), let number = UInt16(port),
            port.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") {
            self.init(host: String(host.dropFirst().dropLast()), port: number)
            guard self.host.utf8.contains(UInt8(ascii: ":")) else { return nil }
        } else {
            self.init(host: host == "localhost" ? "127.0.0.1" : String(host), port: number)
            let isNumeric = self.host.utf8.allSatisfy {
                (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".")
            }
            guard isNumeric, !host.isEmpty else { return nil }
        }
    }

    /// The address as it stands in a URL.
    package var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Whether only programs on this machine can reach the address.
    ///
    /// An IPv6 address has many spellings, such as `0:0:0:0:0:0:0:1` (RFC 4291 §2.2).
    package var isLoopback: Bool {
        if host.hasPrefix("127.") { return true }
        guard host.utf8.contains(UInt8(ascii: ":")), host.utf8.last == UInt8(ascii: "1") else {
            return false
        }
        // All digits but the last are zeros.
        return host.utf8.dropLast().allSatisfy {
            $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ":")
        }
    }
}
