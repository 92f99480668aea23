extension ListKind {
    /// An explicit list of conda: `@EXPLICIT`, then a package's URL on each line, with its digest.
    ///
    /// A `#` and an md5 or a sha256 follow the URL. The algorithm's name may stand before the
    /// digest. conda-lock writes Python packages as comments: `# pip NAME @ URL#sha256=…`.
    static var conda: ListKind {
        ListKind(
            "an explicit list of conda", "plain text", .text(read),
            .line { $0.trimmed == "@EXPLICIT" })
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text where !line.isBlank && line.trimmed != "@EXPLICIT" {
            if !line.isComment {
                add(line.word(line.trimmed), in: nil, to: collector)
            } else if line.text.hasPrefix("# pip "), let at = line.text.ranges(of: " @ ").first {
                let url = ListLine(text: line.text[at.upperBound...], number: line.number)
                add(line.word(url.trimmed), in: "python", to: collector)
            }
        }
    }

    private static func add(_ word: ListWord, in folder: String?, to collector: ListCollector) {
        let (url, digest) = word.value.halves(atFirst: "#") ?? (word.value[...], "")
        guard url.isURL else { return collector.leaveOut(word, "the line is no URL") }
        guard collector.speaks(word) else { return }
        var entry = ListEntry(at: word.place)
        entry.url = word.with(url)
        // A channel has a folder for each platform, so the files get the same folders.
        entry.folder = folder ?? url.parts(at: "/").dropLast().last.map { "conda/" + $0 }
        let hex = digest.drop { $0 != ":" && $0 != "=" }.dropFirst()
        if let algorithm = DigestAlgorithm(ofHex: hex.isEmpty ? digest : hex) {
            let value = word.with(String(hex.isEmpty ? digest : hex))
            entry.digests = [(algorithm, value)]
        } else if !digest.isEmpty {
            return collector.leaveOut(word, "it has no md5 or sha256 behind its #")
        }
        collector.add(entry)
    }
}
