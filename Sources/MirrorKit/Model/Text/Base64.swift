/// Base64 with its padding (RFC 4648 §4).
enum Base64 {
    /// Encodes bytes as text.
    static func encode(_ bytes: [UInt8]) -> String {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * (3 - group.count))
            for position in 0..<4 {
                let character = alphabet[Int(bits >> (18 - 6 * position) & 63)]
                text.append(position <= group.count ? character : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes whole groups of four with canonical padding. Returns nil for other text.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
            } else {
                guard padding == 0, let value = value(of: character) else { return nil }
                bits = bits << 6 | UInt32(value)
                count += 1
                if count.isMultiple(of: 4) {
                    bytes += [UInt8(bits >> 16 & 255), UInt8(bits >> 8 & 255), UInt8(bits & 255)]
                    bits = 0
                }
            }
        }
        switch (count % 4, padding) {
        case (0, 0): return bytes
        case (2, 2) where bits & 0xF == 0: return bytes + [UInt8(bits >> 4 & 255)]
        case (3, 1) where bits & 0x3 == 0:
            return bytes + [UInt8(bits >> 10 & 255), UInt8(bits >> 2 & 255)]
        default: return nil
        }
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Percent-encoding of bytes in URLs (RFC 3986 §2.1).
enum PercentEncoding {
    /// Decodes each `%XX`. A `%` without two digits stays.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var at = text.startIndex
        while at != text.endIndex {
            let next = text.index(after: at)
            if text[at] == UInt8(ascii: "%"), next != text.endIndex,
                let high = Hex.value(of: text[next]),
                case let last = text.index(after: next), last != text.endIndex,
                let low = Hex.value(of: text[last])
            {
                bytes.append(high << 4 | low)
                at = text.index(after: last)
            } else {
                bytes.append(text[at])
                at = next
            }
        }
        return bytes
    }

    /// Appends `%XX` for a byte.
    static func append(_ byte: UInt8, to text: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        text.append(UInt8(ascii: "%"))
        text.append(digits.utf8Start[Int(byte >> 4)])
        text.append(digits.utf8Start[Int(byte & 15)])
    }

    /// Returns `%XX` for each byte of a character's UTF-8.
    static func encode(_ scalar: Unicode.Scalar) -> String {
        var text: [UInt8] = []
        for byte in String(scalar).utf8 { append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether a path may have the byte as it is (RFC 3986 §3.3: a pchar, or a slash).
    static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
            UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"),
            UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="), UInt8(ascii: ":"),
            UInt8(ascii: "@"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
