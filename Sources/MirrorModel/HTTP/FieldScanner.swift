/// Reads the pieces that header fields are made of, byte by byte (RFC 9110 §5.6).
///
/// A scanner is a position in a value. Each reading method either takes the piece that it names, or
/// keeps the position and returns nil.
struct FieldScanner {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = Array(bytes)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Spaces and tabs.
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

    /// A token (§5.6.2), as it was written.
    mutating func token() -> String? {
        let bytes = rest.prefix(while: Token.isTokenByte)
        guard !bytes.isEmpty else { return nil }
        rest = rest.dropFirst(bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A quoted string (§5.6.4) without its quotes and backslashes.
    ///
    /// - Parameter keepsBackslashes: whether a backslash stays that stands before anything else than a
    ///   quote or a backslash, as in the path of a file on Windows.
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

    /// A decimal number without sign; nil also when it is greater than `Int64.max`.
    mutating func number() -> Int64? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= $0 }
        guard let value = DecimalDigits.value(of: digits) else { return nil }
        rest = rest.dropFirst(digits.count)
        return value
    }

    /// Takes everything up to one of these bytes, which stays.
    mutating func upTo(_ isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let bytes = rest.prefix { !isEnd($0) }
        rest = rest.dropFirst(bytes.count)
        return bytes
    }
}
