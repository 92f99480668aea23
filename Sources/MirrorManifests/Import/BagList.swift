internal import MirrorModel

/// `manifest-sha256.txt` of a BagIt bag, or one with another algorithm (RFC 8493 §2.1.3).
enum BagList {
    static var kind: ListKind {
        ListKind("a BagIt manifest", "plain text", .text(read), .grammar(flaw))
    }

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
    static var kind: ListKind {
        ListKind("BagIt's fetch.txt", "plain text", .text(read), .grammar(flaw))
    }

    static func flaw(_ line: ListLine) -> String? {
        let words = line.words
        guard words.count >= 3 else { return "is not a URL, a length and a path" }
        // A bag may name identifiers that are no URLs, such as ark:/12345/abc.
        guard let colon = words[0].utf8.firstIndex(of: UInt8(ascii: ":")),
            URLList.isScheme(words[0][..<colon])
        else { return "does not begin with a URL" }
        let isLength = words[1] == "-" || words[1].utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isLength ? nil : "has no length, or -, behind its URL"
    }

    /// Lines with one path are sources of one file.
    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var files: [(entry: ListEntry, urls: [ListWord])] = []
        var positions: [String: Int] = [:]
        for line in text.telling {
            if let flaw = flaw(line) {
                collector.refuse(line, flaw)
                continue
            }
            let words = line.words
            let url = line.word(words[0])
            // A path may have spaces, so it is all that is left.
            let path = line.text[words[2].startIndex..<line.trimmed.endIndex]
            var entry = ListEntry(named: BagList.decoded(line.word(path)))
            entry.place = url.place
            entry.size = words[1] == "-" ? nil : line.word(words[1])
            guard let name = entry.path?.value, let position = positions[name] else {
                positions[entry.path?.value ?? ""] = files.count
                files.append((entry, [url]))
                continue
            }
            let known = files[position].entry.size
            if let known, let size = entry.size, known.value != size.value {
                collector.leaveOut(
                    url,
                    "its length is another than that of the same path in line \(known.place.line)")
                continue
            }
            files[position].entry.size = known ?? entry.size
            files[position].urls.append(url)
        }
        for (entry, urls) in files {
            let urls = collector.spoken(urls)
            guard let first = urls.first else { continue }
            var entry = entry
            entry.url = first
            entry.mirrors = Array(urls.dropFirst())
            collector.add(entry)
        }
    }
}
