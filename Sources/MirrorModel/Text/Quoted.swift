/// Text from a server or a manifest made fit to print: quoted, escaped, and cut when long.
///
/// Control characters, invisible formatting characters and bidirectional overrides could repaint a
/// terminal or make a message read as another one, so they are shown by number.
package struct Quoted: CustomStringConvertible, Sendable {
    /// The text between quotation marks.
    package let description: String

    /// Quotes a text and cuts it after `limit` characters.
    package init(_ text: some StringProtocol, limit: Int = 80) {
        description = "\"" + Escaped(text, limit: limit).description + "\""
    }
}

/// Text from a server or a manifest made fit to print, without quotation marks around it.
package struct Escaped: CustomStringConvertible, Sendable {
    /// The text, with each character that a terminal might act on shown by number.
    package let description: String

    /// Escapes a text and cuts it after `limit` characters.
    package init(_ text: some StringProtocol, limit: Int = .max) {
        // Most names are plain and stay unchanged.
        var whole = String(text)
        let isPlain = whole.withUTF8 { bytes in
            bytes.count <= limit && bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        }
        if isPlain {
            description = whole
            return
        }
        var result = ""
        var count = 0
        for scalar in text.unicodeScalars {
            if count == limit {
                result += "…"
                break
            }
            count += 1
            switch scalar {
            case _ where Escaped.isHidden(scalar):
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        description = result
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
            .surrogate:
            return true
        default: return false
        }
    }
}
