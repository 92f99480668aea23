internal import MirrorModel

/// The index `Packages` of a Debian archive: a paragraph for each package.
enum PackagesList {
    static let keys: Set<String> = ["Package", "Filename"]

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var fields: [String: ListWord] = [:]
        for line in text {
            if line.isBlank {
                add(fields, to: collector)
                fields = [:]
            } else if let (name, value) = DebianField.split(line) {
                // The fields that count have one line each.
                fields[name] = fields[name] ?? value
            }
        }
        add(fields, to: collector)
    }

    private static func add(_ fields: [String: ListWord], to collector: ListCollector) {
        guard let place = fields.values.map(\.place).min() else { return }
        guard let name = fields["Filename"] else {
            collector.log.error(at: place, "the paragraph has no Filename")
            return
        }
        var entry = ListEntry(
            named: ListWord(value: name.value.withoutDotSlash, place: name.place))
        entry.place = place
        entry.size = fields["Size"]
        entry.tags = ["Package", "Priority"].compactMap { fields[$0]?.value }
        for (field, algorithm) in [("SHA256", DigestAlgorithm.sha256), ("SHA512", .sha512)] {
            if let hex = fields[field] { entry.digests.append((algorithm, hex)) }
        }
        if entry.digests.isEmpty, let hex = fields["SHA1"] { entry.digests = [(.sha1, hex)] }
        if entry.digests.isEmpty, let hex = fields["MD5sum"] { entry.digests = [(.md5, hex)] }
        collector.add(entry)
    }
}

/// `Release` and `InRelease` of a Debian archive: the indexes that they list.
enum ReleaseList {
    static let keys: Set<String> = ["Suite", "Codename", "Origin", "Label", "Date", "Components"]

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var sections: [String: [(hex: ListWord, size: ListWord, name: ListWord)]] = [:]
        var section = ""
        var isSigned = false
        for line in text {
            if line.text.hasPrefix("-----BEGIN PGP SIGNATURE") { break }
            if line.text.hasPrefix("-----BEGIN PGP SIGNED") { isSigned = true }
            if line.isIndented {
                let words = line.words.map(line.word)
                guard words.count == 3 else { continue }
                sections[section, default: []].append((words[0], words[1], words[2]))
            } else if let (name, _) = DebianField.split(line) {
                section = name
            }
        }
        guard let (algorithm, files) = strongest(sections) else {
            collector.log.error(at: TextPosition(), "the Release file has no SHA256 or SHA512")
            return
        }
        let names = Set(files.map(\.name.value))
        for file in files {
            if isPlainTwin(file.name.value, among: names) {
                collector.note(
                    "left out: listed compressed too, and archives mostly have only that",
                    "index", plural: "indexes", at: file.name.place)
                continue
            }
            var entry = ListEntry(named: file.name)
            entry.size = file.size
            entry.digests = [(algorithm, file.hex)]
            collector.add(entry)
        }
        collector.note(
            isSigned
                ? "the signature is not verified"
                : "a Release file has its signature beside it, which is not verified", "",
            at: TextPosition())
    }

    private static func strongest<Files>(
        _ sections: [String: Files]
    ) -> (DigestAlgorithm, Files)? {
        sections["SHA256"].map { (.sha256, $0) } ?? sections["SHA512"].map { (.sha512, $0) }
    }

    private static func isPlainTwin(_ name: String, among names: Set<String>) -> Bool {
        [".xz", ".gz", ".bz2", ".zst"].contains { names.contains(name + $0) }
    }
}

/// A line `Name: value`, as Debian's control files have them.
enum DebianField {
    /// Name and value; nil for any other line.
    static func split(_ line: ListLine) -> (name: String, value: ListWord)? {
        guard !line.isIndented, let (name, rest) = line.text.halves(atFirst: ":"), !name.isEmpty,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        let value = rest.drop { $0 == " " || $0 == "\t" }
        return (String(name), line.word(value))
    }

    /// Why a text's first paragraph is none with certain keys; nil if it is one.
    static func misfit(
        of text: ListText, _ format: ListFormat, all: Set<String> = [], some: Set<String> = []
    ) -> ListDetection.Misfit? {
        var found: Set<String> = []
        var depth = 0
        for line in text {
            if line.text.hasPrefix("-----BEGIN PGP SIGNED") || line.text.hasPrefix("Hash: ") {
                continue
            }
            if line.isBlank, found.isEmpty { continue }
            guard !line.isBlank, line.isIndented || split(line) != nil else { break }
            if let (name, _) = split(line) { found.insert(name) }
            depth += 1
            if depth == 64 { break }
        }
        if !found.isEmpty, all.isSubset(of: found), some.isEmpty || !some.isDisjoint(with: found) {
            return nil
        }
        let missing = all.subtracting(found).sorted() + (some.isEmpty ? [] : [some.sorted()[0]])
        return ListDetection.Misfit(
            format: format, depth: depth, place: TextPosition(),
            reason: "its first paragraph has no \(missing.first ?? "field")")
    }
}
