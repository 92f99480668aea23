internal import MirrorModel

/// yarn.lock of yarn 1: a paragraph for each package; its names are followed by indented keys.
enum YarnList {
    static var kind: ListKind {
        ListKind(
            "yarn.lock", "plain text", .text(read),
            .line { $0.text.hasPrefix("# yarn lockfile v1") })
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var package: Package?
        for line in text.telling {
            if !line.isIndented {
                package?.finish(collector)
                package = Package(line)
            } else if !line.text.hasPrefix("   ") {
                package?.set(line)
            }
        }
        package?.finish(collector)
    }

    /// A package while its lines are read.
    private struct Package {
        private var name: String
        private let place: TextPosition
        private var version: String?
        private var resolved: ListWord?
        private var integrity: ListWord?

        /// Reads `"NAME@RANGE", NAME@RANGE:`; a range `npm:NAME@RANGE` stands for another name.
        init(_ line: ListLine) {
            place = line.place
            let first = line.text.halves(atFirst: ",")?.before ?? line.text.dropLast()
            var text = first.drop { $0 == "\"" }
            if text.last == "\"" { text = text.dropLast() }
            if let alias = text.ranges(of: "@npm:").first { text = text[alias.upperBound...] }
            name = String(text)
            // A name may begin with a mark of its own.
            if let (before, _) = text.dropFirst().halves(atFirst: "@") {
                name = String(text.prefix(1)) + before
            }
        }

        /// Reads `version "1.0.0"`, `resolved "URL#SHA1"` or `integrity sha512-…`.
        mutating func set(_ line: ListLine) {
            guard let (key, value) = line.trimmed.halves(atFirst: " ") else { return }
            var text = value.drop { $0 == "\"" }
            if text.last == "\"" { text = text.dropLast() }
            switch key {
            case "version": version = String(text)
            case "resolved": resolved = line.word(text)
            case "integrity": integrity = line.word(text)
            default: break
            }
        }

        func finish(_ collector: ListCollector) {
            guard let version else {
                return collector.leaveOut(name, "it has no version", at: place)
            }
            let label = "\(name)@\(version)"
            let (url, fragment) =
                resolved?.value.halves(atFirst: "#") ?? (resolved?.value[...] ?? "", "")
            let isRepository =
                url.hasSuffix(".git") || url.hasPrefix("git") || url.hasPrefix("ssh:")
                || url.hasPrefix("file:")
            guard resolved != nil, !isRepository else {
                return collector.leaveOut(
                    label, "it is a folder or a repository, not a file", at: place)
            }
            var entry = ListEntry(at: place)
            // With a mirror of its own, yarn writes the name of the file alone.
            let isURL = URLList.isURL(url)
            guard isURL || NPMList.isVersion(version) else {
                return collector.leaveOut(
                    label, "its version is no version of a registry", at: place)
            }
            entry.url = ListWord(
                value: isURL ? String(url) : NPMList.url(name, version, collector),
                place: resolved?.place ?? place)
            entry.path = ListWord(value: NPMList.path(name, version), place: place)
            entry.integrity = integrity
            if SumsList.algorithm(of: fragment) == .sha1, integrity == nil {
                entry.digests = [
                    (.sha1, ListWord(value: String(fragment), place: resolved?.place ?? place))
                ]
            }
            entry.tags = [name]
            collector.add(entry)
        }
    }
}
