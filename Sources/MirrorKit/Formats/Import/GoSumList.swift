extension ListKind {
    /// go.sum: the zip and the go.mod of each module, as Go's module proxy serves them.
    ///
    /// The `.info` beside each zip is added, because `go mod download` takes no module from a proxy
    /// without it. The paths are those of the proxy, so that the tree can be used as a proxy. Go
    /// hashes the files within a zip, not the bytes of the zip. So its hashes prove nothing to
    /// mirror, and are left out.
    static var goSum: ListKind {
        ListKind("go.sum", "plain text", .text(read), .grammar(flaw))
    }

    private static func flaw(_ line: ListLine) -> String? {
        let words = line.words
        let isSum = words.count == 3 && words[1].hasPrefix("v") && words[2].hasPrefix("h1:")
        return isSum ? nil : "is no module, version and h1: hash"
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        for line in text.telling {
            if let flaw = flaw(line) {
                collector.refuse(line, flaw)
                continue
            }
            let words = line.words
            let (version, isModule) =
                words[1].halves(atFirst: "/").map { ($0.before, $0.after == "go.mod") } ?? (
                    words[1], false
                )
            for end in isModule ? [".mod"] : [".zip", ".info"] {
                let name = "\(escaped(words[0]))/@v/\(escaped(version))\(end)"
                let word = ListWord(value: "go/" + name, place: line.place)
                var entry = ListEntry(named: word)
                let path = SourceURL.reference(toName: name).dropFirst(2)
                entry.url = word.with("https://proxy.golang.org/" + path)
                collector.add(entry)
                collector.note(
                    "without a digest: go.sum hashes what is in a file, not its bytes",
                    "file", at: line.place)
            }
        }
    }

    /// Writes each capital letter as `!` and the small letter, as Go's proxy does.
    ///
    /// Some file systems do not distinguish capital letters from small ones.
    private static func escaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if (0x41...0x5A).contains(byte) { bytes.append(UInt8(ascii: "!")) }
            bytes.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
