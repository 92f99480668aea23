/// Reads the pieces that header fields are made of, byte by byte (RFC 9110 §5.6).
///
/// A scanner is a position in a value. Each reading method moves the position over the piece that
/// it names. If the piece is not there, the method keeps the position and returns nil or false.
struct FieldScanner {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = Array(bytes)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Skips spaces and tabs.
    mutating func skipSpaces() {
        rest = rest.drop(while: isBlank)
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest.removeFirst(text.utf8.count)
        return true
    }

    /// Reads a token (§5.6.2), as it was written.
    mutating func token() -> String? {
        let bytes = rest.prefix(while: FieldScanner.isTokenByte)
        guard !bytes.isEmpty else { return nil }
        rest = rest.dropFirst(bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a quoted string (§5.6.4), and returns it without its quotes and escaping backslashes.
    ///
    /// - Parameter keepsBackslashes: whether a backslash stays before a byte other than a quote or
    ///   a backslash, as in the path of a file on Windows.
    mutating func quotedString(keepsBackslashes: Bool = false) -> [UInt8]? {
        var scan = rest
        guard scan.popFirst() == UInt8(ascii: "\"") else { return nil }
        var content: [UInt8] = []
        while let byte = scan.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                rest = scan
                return content
            case UInt8(ascii: "\\"):
                guard let quoted = scan.popFirst() else { return nil }
                if keepsBackslashes, quoted != UInt8(ascii: "\""), quoted != byte {
                    content.append(byte)
                }
                content.append(quoted)
            default: content.append(byte)
            }
        }
        return nil
    }

    /// Reads a decimal number without a sign. Returns nil also if it is greater than `Int64.max`.
    mutating func number() -> Int64? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= $0 }
        guard let value = DecimalDigits.value(of: digits) else { return nil }
        rest = rest.dropFirst(digits.count)
        return value
    }

    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
    }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        // A bit for each of the characters 0x00…0x3F and 0x40…0x7F: letters, digits, and
        // !#$%&'*+-.^_`|~
        let bits: UInt64 = byte < 0x40 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 0x80 && bits >> UInt64(byte & 0x3F) & 1 == 1
    }

    /// Reads all bytes before the first byte for which `isEnd` is true. That byte stays unread.
    mutating func upTo(_ isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let bytes = rest.prefix { !isEnd($0) }
        rest = rest.dropFirst(bytes.count)
        return bytes
    }
}

/// Whether a byte is optional white space (RFC 9110 §5.6.3).
func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

extension StringProtocol {
    /// The text without spaces and tabs at its ends (RFC 9110 §5.6.3, optional whitespace).
    func trimmingSpaces() -> String {
        let bytes = Array(utf8.drop(while: isBlank))
        let length = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
        return String(decoding: bytes[..<length], as: UTF8.self)
    }
}

/// A range of media types for comparison with responses: `type/subtype`, `type/*` or `*/*`.
///
/// The notation is that of RFC 9110 §12.5.1.
struct MediaRange: Sendable, Hashable, CustomStringConvertible {
    /// The type, in lower case, or `*`.
    let type: String
    /// The subtype, in lower case, or `*`.
    let subtype: String

    /// Reads `type/subtype` without parameters. Returns nil if the text is not well-formed.
    init?(_ text: String) {
        let halves = text.parts(at: "/", keepingEmpty: true)
        guard halves.count == 2, halves.allSatisfy({ FieldScanner.isToken($0.utf8) }) else {
            return nil
        }
        type = halves[0].lowercased()
        subtype = halves[1].lowercased()
        if type == "*", subtype != "*" { return nil }
    }

    /// Returns `type/subtype` of a field's value in lower case, or nil if it is not well-formed.
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
            } else if !FieldScanner.isTokenByte(byte) {
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
    func contains(_ mediaType: String) -> Bool {
        let essence = mediaType.parts(at: ";", keepingEmpty: true).first ?? ""
        guard let other = MediaRange(essence.trimmingSpaces()) else { return type == "*" }
        return (type == "*" || type == other.type)
            && (subtype == "*" || subtype == other.subtype)
    }

    /// Whether a media type is an HTML page; it must be in lower case and without parameters.
    static func isPage(_ type: String) -> Bool {
        type == "text/html" || type == "application/xhtml+xml"
    }

    /// The range as text.
    var description: String { "\(type)/\(subtype)" }
}
