internal import MirrorModel

/// `manifest-sha256.txt` of a BagIt bag, or one with another algorithm (RFC 8493 §2.1.3).
enum BagList {
    static func flaw(_ line: ListLine) -> String? {
        guard let sum = sum(in: line) else { return "is no digest and a path" }
        return sum.name.value.hasPrefix("data/") ? nil : "names a path outside data/"
    }

    /// A digest and a path with any white space between them.
    private static func sum(in line: ListLine) -> SumsList.Sum? {
        let words = line.words
        guard words.count > 1, let algorithm = SumsList.algorithm(of: words[0]) else { return nil }
        let path = line.word(line.text[words[1].startIndex...])
        return SumsList.Sum(algorithm: algorithm, hex: line.word(words[0]), name: path)
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            if let flaw = flaw(line) {
                collector.refuse(line, flaw)
            } else if let sum = sum(in: line) {
                var entry = ListEntry(named: decoded(sum.name))
                entry.digests = [(sum.algorithm, sum.hex)]
                collector.add(entry)
            }
        }
    }

    /// A path without its escapes.
    static func decoded(_ path: ListWord) -> ListWord {
        ListWord(value: BagEscapes.decoded(path.value), place: path.place)
    }
}

/// `fetch.txt` of a BagIt bag: URL, length or `-`, and path (RFC 8493 §2.2.3).
enum BagFetchList {
    static func flaw(_ line: ListLine) -> String? {
        let words = line.words
        guard words.count >= 3 else { return "is not a URL, a length and a path" }
        guard URLList.isURL(words[0]) else { return "does not begin with a URL" }
        let isLength = words[1] == "-" || words[1].utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isLength ? nil : "has no length, or -, behind its URL"
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            if let flaw = flaw(line) {
                collector.refuse(line, flaw)
                continue
            }
            let words = line.words
            let url = line.word(words[0])
            guard collector.speaks(url) else { continue }
            var entry = ListEntry(at: url.place)
            entry.url = url
            entry.size = words[1] == "-" ? nil : line.word(words[1])
            // A path may have spaces, so it is all that is left.
            let path = line.text[words[2].startIndex..<line.trimmed.endIndex]
            entry.path = BagList.decoded(line.word(path))
            collector.add(entry)
        }
    }
}
