/// A media type to compare responses with: `type/subtype`, `type/*` or `*/*`.
///
/// The notation is that of RFC 9110 §12.5.1.
public struct MediaRange: Sendable, Hashable, CustomStringConvertible {
    /// The type, in lower case, or `*`.
    public let type: String
    /// The subtype, in lower case, or `*`.
    public let subtype: String

    /// Reads `type/subtype` without parameters; nil when it is not well-formed.
    public init?(_ text: String) {
        let halves = text.parts(at: "/", keepingEmpty: true)
        guard halves.count == 2, halves.allSatisfy({ Token.isToken($0.utf8) }) else { return nil }
        type = halves[0].lowercased()
        subtype = halves[1].lowercased()
        if type == "*", subtype != "*" { return nil }
    }

    /// Type and subtype of a field's value, in lower case; nil when they are not well-formed.
    static func essence(of bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var start = 0
        while start < bytes.count, isBlank(bytes[start]) { start &+= 1 }
        var end = start
        var slash: Int?
        var hasCapitals = false
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "/"), slash == nil {
                slash = end - start
            } else if !Token.isTokenByte(byte) {
                break
            }
            if byte >= 0x41, byte <= 0x5A { hasCapitals = true }
            end &+= 1
        }
        var rest = end
        while rest < bytes.count, isBlank(bytes[rest]) { rest &+= 1 }
        guard rest == bytes.count || bytes[rest] == UInt8(ascii: ";") else { return nil }
        let essence = UnsafeBufferPointer(rebasing: bytes[start..<end])
        guard let slash, slash > 0, slash + 1 < essence.count else { return nil }
        let any = UInt8(ascii: "*")
        if slash == 1, essence[0] == any, essence.count != 3 || essence[2] != any { return nil }
        let text = String(decoding: essence, as: UTF8.self)
        return hasCapitals ? text.lowercased() : text
    }

    /// Whether a media type, as a server sent it, lies in this range; parameters are ignored.
    public func contains(_ mediaType: String) -> Bool {
        let essence = mediaType.parts(at: ";", keepingEmpty: true).first ?? ""
        guard let other = MediaRange(essence.trimmingSpaces()) else { return type == "*" }
        return (type == "*" || type == other.type)
            && (subtype == "*" || subtype == other.subtype)
    }

    /// Whether a media type, in lower case and without parameters, is that of a page of HTML.
    package static func isPage(_ type: String) -> Bool {
        type == "text/html" || type == "application/xhtml+xml"
    }

    /// The range as text.
    public var description: String { "\(type)/\(subtype)" }
}

/// Tokens of HTTP (RFC 9110 §5.6.2).
enum Token {
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        // A bit for each of the characters 0x00…0x3F and 0x40…0x7F: letters, digits, and
        // !#$%&'*+-.^_`|~
        let bits: UInt64 = byte < 0x40 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 0x80 && bits >> UInt64(byte & 0x3F) & 1 == 1
    }
}
