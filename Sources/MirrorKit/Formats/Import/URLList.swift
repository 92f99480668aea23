extension ListKind {
    /// URLs, one a line.
    static var urls: ListKind {
        ListKind("a list of URLs", "plain text", .text(read), .grammar(flaw))
    }

    private static func flaw(_ line: ListLine) -> String? {
        if line.isIndented || line.words.count != 1 { return "is not one URL alone" }
        return line.text.isURL || line.text.hasPrefix("magnet:?")
            ? nil : "does not begin with https:// or the like"
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            let url = line.word(line.trimmed)
            guard collector.speaks(url) else { continue }
            var entry = ListEntry(at: url.place)
            entry.url = url
            collector.add(entry)
        }
    }
}
