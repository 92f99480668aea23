extension ListKind {
    /// aria2's input file (aria2c(1), "Input File"), and the session that aria2 saves.
    ///
    /// The URIs of a file stand on one line with tabs between them. The indented lines below are
    /// the file's options.
    static var aria2: ListKind {
        ListKind("an aria2 input file", "plain text", .text(read), .grammar(flaw))
    }

    private static func flaw(_ line: ListLine) -> String? {
        if line.isIndented {
            return option(in: line) == nil ? "is no option such as out=NAME" : nil
        }
        let isURIs = line.text.parts(at: "\t").allSatisfy { part in
            part.isURL && !part.utf8.contains(0x20) || part.hasPrefix("magnet:?")
                || isDescription(part)
        }
        return isURIs ? nil : "is neither URLs with tabs between them nor an indented option"
    }

    /// Whether a text is the path of a torrent or a Metalink, which aria2 accepts beside URLs.
    private static func isDescription(_ text: Substring) -> Bool {
        let ends = [".torrent", ".metalink", ".meta4"]
        return !text.isURL && ends.contains { text.hasSuffix($0) }
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var file: ListEntry?
        var options: [(name: Substring, value: ListWord)] = []
        for line in text.telling {
            if !line.isIndented {
                if let file { add(file, options, to: collector) }
                (file, options) = (entry(line, collector), [])
            } else if let (name, value) = option(in: line) {
                if file == nil {
                    collector.leaveOut(line.word(name), "the option stands before any URL")
                } else {
                    options.append((name, line.word(value)))
                }
            } else {
                // The line's value may be a secret, so only its name is reported.
                let name = line.trimmed.prefix { $0 != ":" && $0 != " " && $0 != "=" }
                collector.leaveOut(line.word(name), "the line is no option such as out=NAME")
            }
        }
        if let file { add(file, options, to: collector) }
    }

    private static func option(in line: ListLine) -> (name: Substring, value: Substring)? {
        guard let (name, value) = line.trimmed.halves(atFirst: "=") else { return nil }
        let isName = name.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || "-0123456789".utf8.contains($0)
        }
        return isName && !name.isEmpty ? (name, value) : nil
    }

    /// Returns a file with its URIs.
    ///
    /// The file has no URL if mirror supports the scheme of none of its URIs.
    private static func entry(_ line: ListLine, _ collector: ListCollector) -> ListEntry {
        var words = line.words(line.text.parts(at: "\t"))
        for word in words where isDescription(word.value[...]) {
            collector.leaveOut(word, "it is a file that describes others")
        }
        words.removeAll { isDescription($0.value[...]) }
        var entry = ListEntry(at: line.place)
        entry.setSources(collector.spoken(words))
        return entry
    }

    private static func add(
        _ file: ListEntry, _ options: [(name: Substring, value: ListWord)],
        to collector: ListCollector
    ) {
        var entry = file
        var folder: ListWord?
        var isUnfit = false
        for (name, value) in options {
            switch name {
            case "out": entry.path = value
            case "dir" where value.value.hasPrefix("/"):
                collector.note(
                    "left out: a folder of another machine", "option", at: value.place)
            case "dir": folder = value
            case "checksum":
                if !entry.addDigest(value, at: "=") {
                    let name = String(value.value.prefix { $0 != "=" })
                    collector.noteUnknownDigest(name, at: value.place)
                }
            case "header":
                if let (name, text) = value.value.halves(atFirst: ":") {
                    entry.headers.append((value.with(name), value.with(String(text).trimmed)))
                } else {
                    isUnfit = true
                }
            default:
                collector.note(
                    "left out: aria2's own, such as \(Quoted(name, limit: 40))", "option",
                    at: value.place)
            }
        }
        guard let url = entry.url else { return }
        if isUnfit { return collector.leaveOut(url, "its header has no colon") }
        entry.path = entry.path ?? collector.lastSegment(of: url)
        if let folder, let path = entry.path {
            let start = folder.value == "." ? "" : folder.value.withoutDotSlash + "/"
            entry.path = path.with(start + path.value)
        }
        collector.add(entry)
    }
}
