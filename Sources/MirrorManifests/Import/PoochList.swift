internal import MirrorModel

/// A registry of pooch: `NAME DIGEST [URL]` on each line, the digest a sha256 or `ALGORITHM:DIGITS`.
enum PoochList {
    static func flaw(_ line: ListLine) -> String? {
        guard let words = words(of: line), words.count == 2 || words.count == 3 else {
            return "is not a name, a digest and perhaps a URL"
        }
        guard isDigest(words[1].value) else { return "has no digest behind its name" }
        return words.count == 2 || URLList.isURL(words[2].value) ? nil : "has no URL at its end"
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            if let flaw = flaw(line) {
                collector.refuse(line, flaw)
            } else if let words = words(of: line) {
                add(words, to: collector)
            }
        }
    }

    private static func add(_ words: [ListWord], to collector: ListCollector) {
        var entry = ListEntry(named: words[0])
        let digest = words[1]
        let isTold = digest.value.utf8.contains(UInt8(ascii: ":"))
        let isKnown =
            isTold ? entry.addDigest(digest, at: ":") : entry.addDigest("sha256", digest)
        if !isKnown {
            let name = Quoted(digest.value.halves(atFirst: ":")?.before ?? "", limit: 40)
            collector.note(
                "with no digest but \(name), which mirror does not compute", "file",
                at: digest.place)
        }
        if words.count == 3 {
            guard collector.speaks(words[2]) else { return }
            entry.url = words[2]
        }
        collector.add(entry)
    }

    private static func isDigest(_ text: String) -> Bool {
        if let (name, hex) = text.halves(atFirst: ":") {
            return !name.isEmpty && Hex.decode(hex.utf8) != nil && !hex.isEmpty
        }
        return SumsList.algorithm(of: text[...]) == .sha256
    }

    /// The words of a line; a name in quotation marks may have spaces. Nil if a mark is not closed.
    private static func words(of line: ListLine) -> [ListWord]? {
        guard let mark = line.text.utf8.first, mark == 0x22 || mark == 0x27 else {
            return line.words(line.words)
        }
        let rest = Substring(line.text.utf8.dropFirst())
        guard let end = rest.utf8.firstIndex(of: mark) else { return nil }
        let tail = ListLine(text: rest[rest.utf8.index(after: end)...], number: line.number)
        let offset = line.place(of: tail.text).column - 1
        let others = tail.words(tail.words).map { word in
            var located = word
            located.place.column += offset
            return located
        }
        return [line.word(rest[..<end])] + others
    }
}
