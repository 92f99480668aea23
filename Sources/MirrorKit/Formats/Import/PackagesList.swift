extension ListKind {
    /// The index `Packages` of a Debian archive: a paragraph for each package.
    static var debianPackages: ListKind {
        ListKind(
            "a Debian Packages index", "plain text", .text(read),
            .fields { $0.isSuperset(of: ["Package", "Filename"]) },
            base: { url in
                // Names are relative to the archive, which is above `dists`, the folder of its
                // releases.
                let parts = url.path.split(separator: "/", omittingEmptySubsequences: false)
                guard let dists = parts.lastIndex(of: "dists") else { return url.beside("./") }
                return url.beside("/." + parts[..<dists].joined(separator: "/") + "/")
            }, name: \.nameOfRelease)
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        text.forEachParagraph(with: [
            "Package", "Priority", "Filename", "Size", "SHA256", "SHA512", "SHA1", "MD5sum",
        ]) { fields, place in
            guard let name = fields["Filename"] else {
                let name = fields["Package"]?.value ?? "a paragraph"
                return collector.leaveOut(name, "it has no Filename", at: place)
            }
            var entry = ListEntry(named: name.with(name.value.withoutDotSlash))
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
}

extension ListText {
    /// Calls `body` with the wanted fields of each paragraph, and the place where it begins.
    ///
    /// If a paragraph has a field twice, the first one counts.
    func forEachParagraph(
        with wanted: Set<Substring>, _ body: ([Substring: ListWord], TextPosition) -> Void
    ) {
        var fields: [Substring: ListWord] = [:]
        var start: TextPosition?
        for line in self {
            if line.isBlank {
                if let start { body(fields, start) }
                (fields, start) = ([:], nil)
                continue
            }
            start = start ?? line.place
            // Each wanted field has one line. Most lines of an index belong to other fields.
            if let name = line.fieldName, wanted.contains(name), fields[name] == nil {
                fields[name] = line.value(ofField: name)
            }
        }
        if let start { body(fields, start) }
    }
}

/// Lines of the form `Name: value`, as in Debian's control files.
extension ListLine {
    /// The name before the colon. `nil` means that the line does not begin a field.
    var fieldName: Substring? {
        guard !isIndented, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        let name = text[..<colon]
        return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? name : nil
    }

    /// The text behind the name and its colon.
    func value(ofField name: Substring) -> ListWord {
        let rest = text.utf8[name.endIndex...].dropFirst()
        return word(Substring(rest.drop { $0 == 0x20 || $0 == 0x09 }))
    }
}

extension [ListLine] {
    /// The names of the fields at the beginning of a text, up to the first line that is no field.
    var fieldsOfFirstParagraph: Set<String> {
        var names: Set<String> = []
        var last: Int?
        for line in self {
            // The lines have no blank ones among them, so a gap in their numbers ends the
            // paragraph.
            if let last, line.number > last + 1 { break }
            last = line.number
            guard line.isIndented || line.fieldName != nil else { break }
            if let name = line.fieldName { names.insert(String(name)) }
        }
        return names
    }
}
