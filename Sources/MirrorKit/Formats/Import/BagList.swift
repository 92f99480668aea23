extension ListKind {
    /// `manifest-sha256.txt` of a BagIt bag, or one with another algorithm (RFC 8493 §2.1.3).
    static var bagit: ListKind {
        ListKind("a BagIt manifest", "plain text", .text(readManifest), .grammar(flawOfManifest))
    }

    private static func flawOfManifest(_ line: ListLine) -> String? {
        guard let path = sum(in: line)?.path else { return "is no digest and a path" }
        return path.value.hasPrefix("data/") ? nil : "names a path outside data/"
    }

    /// Reads a digest and a path with any white space between them.
    ///
    /// Returns nil for any other line.
    private static func sum(in line: ListLine) -> ListEntry? {
        let words = line.words
        guard words.count > 1, let algorithm = DigestAlgorithm(ofHex: words[0]) else { return nil }
        var entry = ListEntry(named: path(line.word(line.text[words[1].startIndex...])))
        entry.digests = [(algorithm, line.word(words[0]))]
        return entry
    }

    private static func readManifest(
        _ text: ListText, into collector: ListCollector
    ) throws(DecodingStop) {
        for line in text.telling {
            if let flaw = flawOfManifest(line) {
                collector.refuse(line, flaw)
            } else if let entry = sum(in: line) {
                collector.add(entry)
            }
        }
    }

    /// Decodes the escapes of a path.
    private static func path(_ word: ListWord) -> ListWord { word.with(word.value.bagUnescaped) }
}

extension ListKind {
    /// `fetch.txt` of a BagIt bag: URL, length or `-`, and path (RFC 8493 §2.2.3).
    static var bagitFetch: ListKind {
        ListKind("BagIt's fetch.txt", "plain text", .text(readFetch), .grammar(flawOfFetch))
    }

    private static func flawOfFetch(_ line: ListLine) -> String? {
        let words = line.words
        guard words.count >= 3 else { return "is not a URL, a length and a path" }
        // A bag may name identifiers that are no URLs, such as ark:/12345/abc.
        guard let colon = words[0].utf8.firstIndex(of: UInt8(ascii: ":")),
            words[0][..<colon].isURLScheme
        else { return "does not begin with a URL" }
        let isLength = words[1] == "-" || words[1].utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isLength ? nil : "has no length, or -, behind its URL"
    }

    /// Reads the files. Lines with the same path are sources of one file.
    private static func readFetch(
        _ text: ListText, into collector: ListCollector
    ) throws(DecodingStop) {
        // At first, all URLs of a file are in `mirrors`. The last loop moves the first one to
        // `url`.
        var files: [ListEntry] = []
        var positions: [String: Int] = [:]
        for line in text.telling {
            if let flaw = flawOfFetch(line) {
                collector.refuse(line, flaw)
                continue
            }
            let words = line.words
            let url = line.word(words[0])
            // A path may have spaces, so the rest of the line is the path.
            let path = path(line.word(line.text[words[2].startIndex..<line.trimmed.endIndex]))
            let size = words[1] == "-" ? nil : line.word(words[1])
            guard let position = positions[path.value] else {
                positions[path.value] = files.count
                var entry = ListEntry(named: path)
                (entry.place, entry.size, entry.mirrors) = (url.place, size, [url])
                files.append(entry)
                continue
            }
            let known = files[position].size
            if let known, let size, known.value != size.value {
                collector.leaveOut(
                    url,
                    "its length is another than that of the same path in line \(known.place.line)")
                continue
            }
            files[position].size = known ?? size
            files[position].mirrors.append(url)
        }
        for var entry in files {
            entry.setSources(collector.spoken(entry.mirrors))
            if entry.url != nil { collector.add(entry) }
        }
    }
}

/// Paths in the lists of a BagIt bag, in which three characters are percent-encoded (RFC 8493 §2.1.3).
extension String {
    private static let bagEscapes: [(code: String, scalar: Unicode.Scalar)] = [
        ("0A", "\n"), ("0D", "\r"), ("25", "%"),
    ]

    /// The path without its escapes; only `%0A`, `%0D` and `%25` are escapes.
    fileprivate var bagUnescaped: String {
        guard utf8.contains(UInt8(ascii: "%")) else { return self }
        var text = ""
        var rest = self[...]
        while let (before, after) = rest.halves(atFirst: "%") {
            let code = after.prefix(2).uppercased()
            let scalar = String.bagEscapes.first { $0.code == code }?.scalar
            text += before
            text.unicodeScalars.append(scalar ?? "%")
            rest = scalar == nil ? after : after.dropFirst(2)
        }
        return text + rest
    }

    /// The path with the escapes of a bag's lists.
    var bagEscaped: String {
        var text = ""
        for scalar in unicodeScalars {
            if let code = String.bagEscapes.first(where: { $0.scalar == scalar })?.code {
                text += "%" + code
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
