/// Text of XML 1.0 (Fifth Edition, §2.2 and §2.4): its characters, and their escapes.
enum XMLText {
    /// The first character that XML cannot hold, not even as a reference; nil when there is none.
    static func firstForbidden(in text: String) -> Unicode.Scalar? {
        text.unicodeScalars.first { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: false
            case 0..<0x20, 0xFFFE, 0xFFFF: true
            default: false
            }
        }
    }

    /// Appends an attribute with a space before it.
    static func appendAttribute(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes += " \(name)=\"".utf8
        append(value, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Text as the value of an attribute, without quotes.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends text so that no reader's normalisation changes it.
    ///
    /// A reader would turn a bare CR into LF (§2.11), and white space in an attribute into spaces
    /// (§3.3.3).
    static func append(_ text: String, isAttribute: Bool = true, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\"") where isAttribute: bytes += "&quot;".utf8
            case 0x09 where isAttribute, 0x0A where isAttribute, 0x0D: bytes += "&#\(byte);".utf8
            default: bytes.append(byte)
            }
        }
    }
}
