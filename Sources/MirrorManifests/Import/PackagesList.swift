internal import MirrorModel

/// The index `Packages` of a Debian archive: a paragraph for each package.
enum PackagesList {
    static var kind: ListKind {
        ListKind(
            "a Debian Packages index", "plain text", .text(read),
            .fields { $0.isSuperset(of: keys) },
            base: { url in
                // Names are relative to the archive, above the folder of all its releases.
                let parts = url.path.split(separator: "/", omittingEmptySubsequences: false)
                guard let dists = parts.lastIndex(of: "dists") else { return url.beside("./") }
                return url.beside("/." + parts[..<dists].joined(separator: "/") + "/")
            }, name: ReleaseList.name)
    }

    static let keys: Set<String> = ["Package", "Filename"]

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var fields: [Substring: ListWord] = [:]
        var start: TextPosition?
        for line in text {
            if line.isBlank {
                add(fields, at: start, to: collector)
                (fields, start) = ([:], nil)
                continue
            }
            start = start ?? line.place
            // Each of them has one line; most lines of an index are others.
            if let name = DebianField.name(of: line), wanted.contains(name), fields[name] == nil {
                fields[name] = DebianField.value(of: line, behind: name)
            }
        }
        add(fields, at: start, to: collector)
    }

    private static let wanted: Set<Substring> = [
        "Package", "Priority", "Filename", "Size", "SHA256", "SHA512", "SHA1", "MD5sum",
    ]

    private static func add(
        _ fields: [Substring: ListWord], at place: TextPosition?, to collector: ListCollector
    ) {
        guard let place else { return }
        guard let name = fields["Filename"] else {
            let name = fields["Package"]?.value ?? "a paragraph"
            return collector.leaveOut(name, "it has no Filename", at: place)
        }
        var entry = ListEntry(
            named: ListWord(value: name.value.withoutDotSlash, place: name.place))
        entry.place = place
        entry.size = fields["Size"]
        entry.tags = [fields["Package"], fields["Priority"]].compactMap { $0?.value }
        let strong: [(Substring, DigestAlgorithm)] = [("SHA256", .sha256), ("SHA512", .sha512)]
        for (field, algorithm) in strong {
            if let hex = fields[field] { entry.digests.append((algorithm, hex)) }
        }
        if entry.digests.isEmpty, let hex = fields["SHA1"] { entry.digests = [(.sha1, hex)] }
        if entry.digests.isEmpty, let hex = fields["MD5sum"] { entry.digests = [(.md5, hex)] }
        collector.add(entry)
    }
}
