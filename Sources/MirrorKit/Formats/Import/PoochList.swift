extension ListKind {
    /// A registry of pooch: `NAME DIGEST [URL]` on each line, the digest a sha256 or `ALGORITHM:DIGITS`.
    static var pooch: ListKind {
        ListKind("a pooch registry", "plain text", .text(read), .grammar(flaw))
    }

    private static func flaw(_ line: ListLine) -> String? {
        guard let words = words(of: line), words.count == 2 || words.count == 3 else {
            return "is not a name, a digest and perhaps a URL"
        }
        guard isDigest(words[1].value) else { return "has no digest behind its name" }
        return words.count == 2 || words[2].value.isURL ? nil : "has no URL at its end"
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
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
            let isName = name.utf8.allSatisfy {
                (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0)
            }
            return isName && !name.isEmpty && Hex.decode(hex.utf8) != nil && !hex.isEmpty
        }
        return DigestAlgorithm(ofHex: text[...]) == .sha256
    }

    /// Splits a line into words, with quotation marks and backslashes as in a shell.
    ///
    /// Returns nil if a quotation mark is not closed.
    private static func words(of line: ListLine) -> [ListWord]? {
        guard line.text.utf8.contains(where: { "\"'\\".utf8.contains($0) }) else {
            return line.words(line.words)
        }
        var words: [ListWord] = []
        var word: ListWord?
        var mark: Unicode.Scalar?
        var isEscaped = false
        for (offset, scalar) in line.text.unicodeScalars.enumerated() {
            if mark == nil, !isEscaped, scalar == " " || scalar == "\t" {
                if let word { words.append(word) }
                word = nil
                continue
            }
            if word == nil {
                word = ListWord(
                    value: "", place: TextPosition(line: line.number, column: offset + 1))
            }
            switch scalar {
            case "\\" where !isEscaped && mark != "'":
                isEscaped = true
                continue
            case "'" where !isEscaped && mark != "\"", "\"" where !isEscaped && mark != "'":
                mark = mark == nil ? scalar : nil
            default: word?.value.unicodeScalars.append(scalar)
            }
            isEscaped = false
        }
        if let word { words.append(word) }
        return mark == nil && !isEscaped ? words : nil
    }
}
