/// Where a URL, as somebody wrote it, may hold a secret: in its user and password, and in its query.
///
/// The text may be malformed. Where it is not certain what a part of it is, the part is taken for a
/// secret.
package enum URLSecrets {
    /// The parts to hide, in their order.
    ///
    /// An escape of JSON or XML that may stand for `/`, `@` or `?` makes all that follows uncertain.
    package static func ranges(in text: ArraySlice<Unicode.Scalar>) -> [Range<Int>] {
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
            // A password with a question mark in it, or a port and an address in the query.
            return [start..<text.endIndex]
        }
        if query < text.endIndex { secrets.append((query + 1)..<text.endIndex) }
        return secrets.filter { !$0.isEmpty }
    }

    /// The place behind the first `//`, whose slashes JSON may escape.
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

    /// Whether there is `\u00XX` for ASCII, or `&#`.
    private static func hasEscape(_ text: ArraySlice<Unicode.Scalar>) -> Bool {
        text.indices.contains { at in
            let rest = text[at...]
            if rest.starts(with: ["&", "#"]) { return true }
            return rest.starts(with: ["\\", "u", "0", "0"]) && rest.count > 4
                && ("0"..."7").contains(rest[at + 4])
        }
    }
}
