/// Percent-encoding of bytes in URLs (RFC 3986 §2.1).
enum PercentEncoding {
    /// Decodes each `%XX`; a `%` without two digits stays.
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

    /// `%XX` for each byte of a character's UTF-8.
    static func encode(_ scalar: Unicode.Scalar) -> String {
        var text: [UInt8] = []
        for byte in String(scalar).utf8 { append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether a byte may stand in a path as it is (RFC 3986 §3.3: pchar, or a slash).
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
