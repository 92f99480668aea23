internal import MirrorModel

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
            } else if let name = DebianField.name(of: line) {
                section = String(name)
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
