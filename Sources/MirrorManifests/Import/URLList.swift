internal import MirrorModel

/// URLs, one a line.
enum URLList {
    static var kind: ListKind {
        ListKind("a list of URLs", "plain text", .text(read), .grammar(flaw))
    }

    static func flaw(_ line: ListLine) -> String? {
        if line.isIndented || line.words.count != 1 { return "is not one URL alone" }
        return isURL(line.text) || line.text.hasPrefix("magnet:?")
            ? nil : "does not begin with https:// or the like"
    }

    /// Whether a text begins with a scheme and two slashes.
    static func isURL(_ text: some StringProtocol) -> Bool {
        let text = Substring(text)
        guard let (scheme, rest) = text.halves(atFirst: ":") else { return false }
        return rest.hasPrefix("//") && isScheme(scheme)
    }

    /// Whether a text can be what stands before the colon of a URL (RFC 3986 §3.1).
    static func isScheme(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || "+-.".utf8.contains(byte)
            }
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            let url = line.word(line.trimmed)
            guard collector.speaks(url) else { continue }
            var entry = ListEntry(at: url.place)
            entry.url = url
            collector.add(entry)
        }
    }
}
