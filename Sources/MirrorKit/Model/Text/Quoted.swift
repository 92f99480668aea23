/// Text from a server or a manifest made fit to print: quoted, escaped, and cut if long.
///
/// Control characters, invisible formatting characters and bidirectional overrides are shown by
/// number. Otherwise they could repaint a terminal or make a message look like another one.
package struct Quoted: CustomStringConvertible, Sendable {
    /// The text between quotation marks.
    package let description: String

    /// Quotes a text and cuts it after `limit` characters.
    package init(_ text: some StringProtocol, limit: Int = 80) {
        description = "\"" + Escaped(text, limit: limit).description + "\""
    }

    /// Quotes a URL without its query, and with `…` for other parts that may be secret.
    package init(url text: String) { self.init(URLSecrets.hidden(in: text)) }
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

extension StringProtocol {
    /// The text with every character that a terminal might not show as itself written as `\u{…}`.
    ///
    /// Text from a server or a manifest passes through this property before it reaches a terminal.
    package var printable: String { Escaped(self).description }
}

extension String {
    /// Makes text of bytes. Returns nil if they are not UTF-8.
    ///
    /// Nearly all texts of indexes and heads are ASCII, which needs no validation. With only the
    /// standard library's `init(validating:as:)`, reading a row of the index took twice as long.
    init?(sound bytes: UnsafeBufferPointer<UInt8>) {
        if bytes.reduce(0, |) < 0x80 {
            self.init(decoding: bytes, as: UTF8.self)
        } else {
            self.init(validating: bytes, as: UTF8.self)
        }
    }

    /// Whether bytes are UTF-8.
    static func isSound(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.reduce(0, |) < 0x80 || String(validating: bytes, as: UTF8.self) != nil
    }

    /// Makes text of an array of bytes. Returns nil if they are not UTF-8.
    init?(sound bytes: [UInt8]) {
        guard let text = bytes.withUnsafeBufferPointer({ String(sound: $0) }) else { return nil }
        self = text
    }
}

/// Finds where a URL may hold a secret: in its user and password, and in its query.
///
/// The text may be malformed. A part whose meaning is uncertain counts as a secret.
enum URLSecrets {
    /// Returns a text without its query, and with `…` for other parts that may be secret.
    static func hidden(in text: String) -> String {
        let scalars = Array(text.unicodeScalars)
        let query = scalars.firstIndex(of: "?") ?? scalars.count
        var shown = String.UnicodeScalarView()
        var at = 0
        for secret in ranges(in: scalars[...]) where secret.lowerBound <= query {
            shown.append(contentsOf: scalars[at..<secret.lowerBound])
            shown.append("…")
            at = secret.upperBound
        }
        if at < query { shown.append(contentsOf: scalars[at..<query]) }
        return String(shown)
    }

    /// Returns the parts to hide, in their order.
    ///
    /// A JSON or XML escape that may stand for `/`, `@` or `?` makes all text after it uncertain.
    static func ranges(in text: ArraySlice<Unicode.Scalar>) -> [Range<Int>] {
        let query = text.firstIndex(of: "?") ?? text.endIndex
        let authority = authority(in: text)
        let start = authority ?? text.startIndex
        if hasEscape(text[..<query]) { return [min(start, query)..<text.endIndex] }
        var secrets: [Range<Int>] = []
        if let at = text[..<query].lastIndex(of: "@") {
            if let authority, authority <= at {
                secrets.append(authority..<at)
            } else if text[..<at].contains(":") {
                secrets.append(text.startIndex..<at)
            }
        } else if start < query, text[query...].contains("@"), text[start..<query].contains(":"),
            !text[start..<query].contains("/")
        {
            // The password may have a question mark, or the URL a port and an address in its query.
            return [start..<text.endIndex]
        }
        if query < text.endIndex { secrets.append((query + 1)..<text.endIndex) }
        return secrets.filter { !$0.isEmpty }
    }

    /// Returns the place after the first `//`, whose slashes JSON may escape. Nil without a `//`.
    private static func authority(in text: ArraySlice<Unicode.Scalar>) -> Int? {
        var slashes = 0
        for at in text.indices {
            switch text[at] {
            case "/": slashes += 1
            case "\\": continue
            default: slashes = 0
            }
            if slashes == 2 { return at + 1 }
        }
        return nil
    }

    /// Whether the text has an escape that may stand for ASCII: `\u00XX`, or `&#`.
    private static func hasEscape(_ text: ArraySlice<Unicode.Scalar>) -> Bool {
        text.indices.contains { at in
            let rest = text[at...]
            if rest.starts(with: ["&", "#"]) { return true }
            return rest.starts(with: ["\\", "u", "0", "0"]) && rest.count > 4
                && ("0"..."7").contains(rest[at + 4])
        }
    }
}

extension String {
    /// The text as content of HTML or as a quoted attribute, in which nothing is markup.
    ///
    /// A character that would be invisible, or that would change the direction of others, is shown
    /// by its number.
    package var escapedForHTML: String {
        var escaped = ""
        for scalar in printable.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The word quoted for a command that sh(1) reads.
    var quotedForShell: String {
        if isPlainWord { return self }
        return "'" + self[...].parts(at: "'", keepingEmpty: true).joined(separator: "'\\''") + "'"
    }

    /// Whether no character of the word has a special meaning to systemd, cron or sh.
    package var isPlainWord: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "/._-:=,+@".utf8.contains(byte)
                }
            }
    }
}
