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
    static func essence(of value: ArraySlice<UInt8>) -> String? {
        var bytes = value.prefix { $0 != UInt8(ascii: ";") }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")),
            Token.isToken(bytes[..<slash]), Token.isToken(bytes[(slash + 1)...])
        else { return nil }
        let isAnyType = bytes[..<slash].elementsEqual("*".utf8)
        if isAnyType, !bytes[(slash + 1)...].elementsEqual("*".utf8) { return nil }
        let isCapital: (UInt8) -> Bool = { (0x41...0x5A).contains($0) }
        return String(
            decoding: bytes.contains(where: isCapital)
                ? bytes.map { isCapital($0) ? $0 | 0x20 : $0 }[...] : bytes, as: UTF8.self)
    }

    /// Whether a media type, as a server sent it, lies in this range; parameters are ignored.
    public func contains(_ mediaType: String) -> Bool {
        let essence = mediaType.parts(at: ";", keepingEmpty: true).first ?? ""
        guard let other = MediaRange(essence.trimmingSpaces()) else { return type == "*" }
        return (type == "*" || type == other.type)
            && (subtype == "*" || subtype == other.subtype)
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
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: "!#$%&'*+.^_`|~".utf8.contains(byte)
        }
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at its ends (RFC 9110 §5.6.3, optional whitespace).
    func trimmingSpaces() -> String {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let bytes = Array(utf8.drop(while: isSpace))
        let length = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        return String(decoding: bytes[..<length], as: UTF8.self)
    }
}
