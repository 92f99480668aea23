/// A request to a served tree, as far as the answer depends on it.
package struct ServedRequest: Sendable, Hashable {
    /// A header field that an answer depends on.
    package enum Field: Int, Sendable, Hashable, CaseIterable {
        case accept, host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince, range

        /// Finds the name in any case; nil for other fields.
        package init?(_ name: UnsafeBufferPointer<UInt8>) {
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
    package var method: String
    /// The path of the target as it was sent.
    package var path: String
    /// The name behind which a listing goes on, percent-encoded; from the query `after=NAME`.
    package var after: String?
    /// Whether its version of HTTP demands a Host field: 1.1 does, 1.0 does not.
    package var needsHost = false
    private var fields: [Field: String] = [:]

    /// A request without header fields.
    package init(method: String, path: String, after: String? = nil) {
        self.method = method
        self.path = path
        self.after = after
    }

    /// A field's value; the values of repeated fields are joined by commas (RFC 9110 §5.3).
    package subscript(field: Field) -> String? { fields[field] }

    /// Whether it names its host as it must: HTTP/1.1 with one Host field (RFC 9112 §3.2).
    package var namesOneHost: Bool {
        guard let host = self[.host] else { return !needsHost }
        return !host.utf8.contains(UInt8(ascii: ","))
    }

    /// Adds a field.
    package mutating func add(_ field: Field, _ value: String) {
        if let known = fields[field] {
            fields[field] = known + ", " + value
        } else {
            fields[field] = value
        }
    }

    /// Whether the request is for a program that wants JSON more than HTML (RFC 9110 §12.5.1).
    package var prefersJSON: Bool {
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

    /// A weight from 0 to 1 in thousandths (RFC 9110 §12.4.2); anything else counts as 0.
    private static func quality(_ text: Substring) -> Int {
        guard let number = Double(text), number >= 0, number <= 1 else { return 0 }
        return Int(number * 1000)
    }
}

extension ServedRequest {
    /// The bytes that the Range field asks for, of a file of so many (RFC 9110 §14.2); empty where the
    /// file has none of them.
    ///
    /// Nil if the field is absent or malformed, of another unit, or asks for several parts. A server
    /// may ignore such a field, and then answers with the whole.
    func range(ofSize size: Int64) -> Range<Int64>? {
        guard let text = self[.range] else { return nil }
        var scan = FieldScanner(text.utf8)
        guard scan.token()?.lowercased() == "bytes", scan.take(UInt8(ascii: "=")) else {
            return nil
        }
        scan.skipSpaces()
        let hyphen = UInt8(ascii: "-")
        let range: Range<Int64>
        if scan.take(hyphen) {
            guard let length = scan.number() else { return nil }
            range = max(0, size - length)..<size
        } else {
            guard let first = scan.number(), scan.take(hyphen) else { return nil }
            let last = scan.number()
            if let last, last < first { return nil }
            let end = last.map { min($0, size - 1) + 1 } ?? size
            range = first < size ? first..<end : size..<size
        }
        scan.skipSpaces()
        return scan.isAtEnd ? range : nil
    }
}

/// What a request's target names in a served tree (RFC 9112 §3.2).
package enum ServedPlace: Sendable, Hashable {
    /// A folder's listing: the root, whose path is empty, or a folder in an area.
    case folder(String)
    /// An area without the slash behind it.
    case area(Area)
    /// A file, or perhaps a folder without the slash behind it.
    case file(Target)
    /// A file by the sha256 of its bytes.
    case digest(Digest)
    /// Nothing that could be in a tree: hidden files, parts, names that lead elsewhere.
    case nothing
    /// No target of a request.
    case malformed

    /// Reads the path of a target as it was sent, without its query.
    ///
    /// Each segment is decoded once and by itself, so that no encoding makes a slash, a NUL or a dot
    /// segment of a name.
    package init(path: some StringProtocol) {
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

    /// The decoded segments behind the first slash; nil if the text is no absolute path.
    ///
    /// A segment that cannot be a name is a dot segment, which no target has.
    private static func segments(of path: some StringProtocol) -> [String]? {
        var rest = Substring(path)
        // Servers take the absolute form too (RFC 9112 §3.2.2).
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
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address, without brackets.
    public var host: String
    /// The port; 0 is any free one.
    public var port: UInt16

    /// Takes an address and a port.
    public init(host: String = "127.0.0.1", port: UInt16 = 8080) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; nil for other text.
    ///
    /// Names other than localhost are not resolved.
    public init?(_ text: String) {
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
    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Whether only programs on this machine can reach the address.
    ///
    /// An IPv6 address has many spellings, such as `0:0:0:0:0:0:0:1` (RFC 4291 §2.2).
    public var isLoopback: Bool {
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
