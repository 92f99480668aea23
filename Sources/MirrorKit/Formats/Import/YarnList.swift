extension ListKind {
    /// yarn.lock of yarn 1: a paragraph for each package, with its names and then indented keys.
    static var yarn: ListKind {
        ListKind(
            "yarn.lock", "plain text", .text(read),
            .line { $0.text.hasPrefix("# yarn lockfile v1") })
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var name: ListWord?
        var fields: [Substring: ListWord] = [:]
        for line in text.telling {
            if !line.isIndented {
                if let name { add(name, fields, to: collector) }
                name = ListWord(value: self.name(in: line), place: line.place)
                fields = [:]
            } else if !line.text.hasPrefix("   "),
                let (key, value) = line.trimmed.halves(atFirst: " ")
            {
                // `version "1.0.0"`, `resolved "URL#SHA1"` or `integrity sha512-…`.
                var text = value.drop { $0 == "\"" }
                if text.last == "\"" { text = text.dropLast() }
                fields[key] = line.word(text)
            }
        }
        if let name { add(name, fields, to: collector) }
    }

    /// Returns the name in `"NAME@RANGE", NAME@RANGE:`.
    ///
    /// A range `npm:NAME@RANGE` is an alias for another name.
    private static func name(in line: ListLine) -> String {
        let first = line.text.halves(atFirst: ",")?.before ?? line.text.dropLast()
        var text = first.drop { $0 == "\"" }
        if text.last == "\"" { text = text.dropLast() }
        if let alias = text.ranges(of: "@npm:").first { text = text[alias.upperBound...] }
        // A scoped name begins with `@`.
        guard let (before, _) = text.dropFirst().halves(atFirst: "@") else { return String(text) }
        return String(text.prefix(1)) + before
    }

    private static func add(
        _ name: ListWord, _ fields: [Substring: ListWord], to collector: ListCollector
    ) {
        guard let version = fields["version"]?.value else {
            return collector.leaveOut(name, "it has no version")
        }
        let label = name.with("\(name.value)@\(version)")
        let resolved = fields["resolved"] ?? name
        let (url, fragment) = resolved.value.halves(atFirst: "#") ?? (resolved.value[...], "")
        let isRepository =
            url.hasSuffix(".git") || url.hasPrefix("git") || url.hasPrefix("ssh:")
            || url.hasPrefix("file:")
        guard fields["resolved"] != nil, !isRepository else {
            return collector.leaveOut(label, "it is a folder or a repository, not a file")
        }
        // With an offline mirror, yarn writes only the name of the file.
        guard url.isURL || version.isNPMVersion else {
            return collector.leaveOut(label, "its version is no version of a registry")
        }
        var entry = ListEntry(npm: name, version)
        entry.url = resolved.with(url.isURL ? String(url) : collector.npmURL(name.value, version))
        entry.integrity = fields["integrity"]
        if DigestAlgorithm(ofHex: fragment) == .sha1, entry.integrity == nil {
            entry.digests = [(.sha1, resolved.with(fragment))]
        }
        collector.add(entry)
    }
}
