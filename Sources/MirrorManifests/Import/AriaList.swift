internal import MirrorModel

/// aria2's input file (aria2c(1), "Input File"), and the session that it saves.
///
/// The URIs of a file stand on one line with tabs between them; the indented lines beneath it are
/// the file's options.
enum AriaList {
    static var kind: ListKind {
        ListKind("an aria2 input file", "plain text", .text(read), .grammar(flaw))
    }

    static func flaw(_ line: ListLine) -> String? {
        if line.isIndented {
            return option(in: line) == nil ? "is no option such as out=NAME" : nil
        }
        let isURIs = line.text.parts(at: "\t").allSatisfy { part in
            URLList.isURL(part) && !part.utf8.contains(0x20) || part.hasPrefix("magnet:?")
                || isDescription(part)
        }
        return isURIs ? nil : "is neither URLs with tabs between them nor an indented option"
    }

    /// Whether a text is the path of a torrent or a Metalink, which aria2 takes beside URLs.
    private static func isDescription(_ text: Substring) -> Bool {
        let ends = [".torrent", ".metalink", ".meta4"]
        return !URLList.isURL(text) && ends.contains { text.hasSuffix($0) }
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var file: File?
        for line in text.telling {
            if line.isIndented {
                file.take(line, collector)
            } else {
                file?.finish(collector)
                file = File(line, collector)
            }
        }
        file?.finish(collector)
    }

    fileprivate static func option(in line: ListLine) -> (name: Substring, value: Substring)? {
        guard let (name, value) = line.trimmed.halves(atFirst: "=") else { return nil }
        let isName = name.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || "-0123456789".utf8.contains($0)
        }
        return isName && !name.isEmpty ? (name, value) : nil
    }

    /// A file while its options are read.
    fileprivate struct File {
        var entry: ListEntry
        var folder: ListWord?
        var name: ListWord?
        /// Why the file is left out.
        private var flaw: String?

        init(_ line: ListLine, _ collector: ListCollector) {
            entry = ListEntry(at: line.place)
            var words = line.words(line.text.parts(at: "\t"))
            for word in words where AriaList.isDescription(word.value[...]) {
                collector.leaveOut(word, "it is a file that describes others")
            }
            words.removeAll { AriaList.isDescription($0.value[...]) }
            let urls = collector.spoken(words)
            entry.url = urls.first
            entry.mirrors = Array(urls.dropFirst())
        }

        mutating func set(_ name: Substring, _ value: ListWord, _ collector: ListCollector) {
            switch name {
            case "out": self.name = value
            case "dir" where value.value.hasPrefix("/"):
                collector.note(
                    "left out: a folder of another machine", "option", at: value.place)
            case "dir": folder = value
            case "checksum": addDigest(value, collector)
            case "header": addHeader(value, collector)
            default:
                collector.note(
                    "left out: aria2's own, such as \(Quoted(name, limit: 40))", "option",
                    at: value.place)
            }
        }

        private mutating func addDigest(_ value: ListWord, _ collector: ListCollector) {
            if entry.addDigest(value, at: "=") { return }
            let name = String(value.value.prefix { $0 != "=" })
            collector.noteUnknownDigest(name, at: value.place)
        }

        private mutating func addHeader(_ value: ListWord, _ collector: ListCollector) {
            guard let (name, text) = value.value.halves(atFirst: ":") else {
                flaw = flaw ?? "its header has no colon"
                return
            }
            entry.headers.append(
                (
                    ListWord(value: String(name), place: value.place),
                    ListWord(value: String(text).trimmed, place: value.place)
                ))
        }

        mutating func finish(_ collector: ListCollector) {
            guard let url = entry.url else { return }
            if let flaw { return collector.leaveOut(url, flaw) }
            entry.path = name ?? collector.lastSegment(of: url)
            if let folder, let path = entry.path {
                let start = folder.value == "." ? "" : folder.value.withoutDotSlash + "/"
                entry.path = ListWord(value: start + path.value, place: path.place)
            }
            collector.add(entry)
        }
    }
}

extension AriaList.File? {
    fileprivate mutating func take(_ line: ListLine, _ collector: ListCollector) {
        guard let (name, value) = AriaList.option(in: line) else {
            // Its value may be a secret.
            let name = line.trimmed.prefix { $0 != ":" && $0 != " " && $0 != "=" }
            return collector.leaveOut(line.word(name), "the line is no option such as out=NAME")
        }
        guard self != nil else {
            return collector.leaveOut(line.word(name), "the option stands before any URL")
        }
        self?.set(name, line.word(value), collector)
    }
}

extension String {
    /// The text without `./` at its beginning, as find(1) writes it.
    var withoutDotSlash: String { hasPrefix("./") ? String(dropFirst(2)) : self }
}
