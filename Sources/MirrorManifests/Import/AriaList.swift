internal import MirrorModel

/// aria2's input file (aria2c(1), "Input File").
///
/// The URIs of a file stand on one line with tabs between them; the indented lines beneath it are
/// the file's options.
enum AriaList {
    static func flaw(_ line: ListLine) -> String? {
        if line.isIndented {
            return option(in: line) == nil ? "is no option such as out=NAME" : nil
        }
        let isURIs = line.text.parts(at: "\t").allSatisfy {
            URLList.isURL($0) && !$0.utf8.contains(0x20)
        }
        return isURIs ? nil : "is neither URLs with tabs between them nor an indented option"
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

        init(_ line: ListLine, _ collector: ListCollector) {
            entry = ListEntry(at: line.place)
            let urls = line.words(line.text.parts(at: "\t")).filter(collector.speaks)
            entry.url = urls.first
            entry.mirrors = Array(urls.dropFirst())
        }

        mutating func set(_ name: Substring, _ value: ListWord, _ collector: ListCollector) {
            switch name {
            case "out": self.name = value
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
            collector.log.error(
                at: value.place,
                "checksum \(Quoted(value.value, limit: 40)): write sha-256= and the digits")
        }

        private mutating func addHeader(_ value: ListWord, _ collector: ListCollector) {
            guard let (name, text) = value.value.halves(atFirst: ":") else {
                collector.log.error(
                    at: value.place, "header: it has no colon; write Name: value")
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
            collector.log.error(at: line.place, "an indented line is an option such as out=NAME")
            return
        }
        guard self != nil else {
            collector.log.error(at: line.place, "an option before any URL; move it beneath one")
            return
        }
        self?.set(name, line.word(value), collector)
    }
}

extension String {
    /// The text without `./` at its beginning, as find(1) writes it.
    var withoutDotSlash: String { hasPrefix("./") ? String(dropFirst(2)) : self }
}
