internal import MirrorModel
internal import MirrorSystem

/// `Release` and `InRelease` of a Debian archive: the indexes that they list, and the list itself.
///
/// Beneath `Caches/` the files lie as in the archive, so that apt can read the tree. The list is
/// pinned to the bytes that were read, because the indexes are those that exactly this list names.
enum ReleaseList {
    static var kind: ListKind {
        ListKind(
            "a Debian Release file", "plain text", .text(read),
            .fields { !$0.isDisjoint(with: keys) && !$0.isDisjoint(with: sums) }, name: name)
    }

    /// Each release of an archive has an InRelease, and each of its components a Packages.
    static func name(ofListAt url: SourceURL) -> String? {
        url.beside("./")?.foldersOfRelease?.joined(separator: "-")
    }

    static let keys: Set<String> = ["Suite", "Codename", "Origin", "Label", "Date", "Components"]
    /// The fields that list the indexes.
    static let sums: Set<String> = ["SHA256", "SHA512", "SHA1", "MD5Sum"]

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var release = Release()
        for line in text {
            if line.text.hasPrefix("-----BEGIN PGP SIGNATURE") { break }
            release.take(line)
        }
        guard let indexes = release.strongest else {
            collector.log.error(at: TextPosition(), "the Release file has no SHA256 or SHA512")
            return
        }
        let place = ArchivePlace(of: collector.builder)
        collector.add(place.entry(ofList: try text.whole(), isSigned: release.isSigned))
        let names = Set(indexes.map(\.name.value))
        for index in indexes {
            if isPlainTwin(index.name.value, among: names) {
                collector.note(
                    "left out: listed compressed too, and archives mostly have only that",
                    "index", plural: "indexes", at: index.name.place)
                continue
            }
            collector.add(place.entry(of: index, isFoundByHash: release.isFoundByHash))
        }
        collector.note(
            release.isSigned
                ? "the signature is not verified"
                : "a Release file has its signature beside it, which is not verified", "",
            at: TextPosition())
    }

    private static func isPlainTwin(_ name: String, among names: Set<String>) -> Bool {
        [".xz", ".gz", ".bz2", ".zst"].contains { names.contains(name + $0) }
    }
}

/// What the lines of a Release file say.
private struct Release {
    /// An index: its name relative to the Release file.
    struct Index {
        let name: ListWord
        let size: ListWord
        let algorithm: DigestAlgorithm
        let hex: ListWord
    }

    /// Whether the signature is in the file itself.
    private(set) var isSigned = false
    /// Whether the archive has each index under its digest too.
    private(set) var isFoundByHash = false
    private var indexes: [DigestAlgorithm: [Index]] = [:]
    private var section: DigestAlgorithm?

    /// The indexes with the digest that apt prefers.
    var strongest: [Index]? { indexes[.sha256] ?? indexes[.sha512] }

    mutating func take(_ line: ListLine) {
        if line.text.hasPrefix("-----BEGIN PGP SIGNED") { isSigned = true }
        if line.isIndented {
            let words = line.words(line.words)
            guard let section, words.count == 3 else { return }
            indexes[section, default: []].append(
                Index(name: words[2], size: words[1], algorithm: section, hex: words[0]))
        } else if let name = DebianField.name(of: line) {
            section = ["SHA256": .sha256, "SHA512": .sha512][name]
            if name == "Acquire-By-Hash" {
                isFoundByHash = DebianField.value(of: line, behind: name).value == "yes"
            }
        }
    }
}

/// The place of a Release file in its archive.
private struct ArchivePlace {
    private let base: SourceURL?
    private let origin: ManifestOrigin
    /// The folder that the Release file is in: `dists/bookworm/`; empty if the URL tells none.
    private let folder: String

    init(of builder: ManifestBuilder) {
        (base, origin) = (builder.resourceBuilder.base, builder.check.origin)
        folder =
            (builder.resourceBuilder.base?.foldersOfRelease).map { folders in
                (["dists"] + folders).joined(separator: "/") + "/"
            } ?? ""
    }

    /// The Release file itself, with the digest of the bytes that were read.
    func entry(ofList bytes: [UInt8], isSigned: Bool) -> ListEntry {
        let place = TextPosition()
        let word = { (value: String) in ListWord(value: value, place: place) }
        var entry = entry(named: word(name(isSigned: isSigned)))
        entry.size = word("\(bytes.count)")
        entry.digests = [(.sha256, word(ByteHasher.digest(.sha256, of: bytes).hex))]
        return entry
    }

    func entry(of index: Release.Index, isFoundByHash: Bool) -> ListEntry {
        var entry = entry(named: index.name)
        entry.size = index.size
        entry.digests = [(index.algorithm, index.hex)]
        // When the archive changes, the name leads to the new index, and the digest still to this.
        if isFoundByHash, base != nil {
            let parts = index.name.value.split(separator: "/", omittingEmptySubsequences: false)
            let algorithm = index.algorithm == .sha256 ? "SHA256" : "SHA512"
            let other = parts.dropLast() + ["by-hash", algorithm[...], index.hex.value[...]]
            entry.mirrors = [
                ListWord(
                    value: SourceURL.reference(toName: other.joined(separator: "/")),
                    place: index.name.place)
            ]
        }
        return entry
    }

    private func entry(named name: ListWord) -> ListEntry {
        var entry = ListEntry(named: name)
        if base != nil {
            entry.path?.value = folder + name.value
            entry.url = ListWord(value: SourceURL.reference(toName: name.value), place: name.place)
        }
        entry.tags = tags(of: name.value)
        return entry
    }

    private func name(isSigned: Bool) -> String {
        if case .url(let url) = origin, let name = url.lastSegment { return name }
        return isSigned ? "InRelease" : "Release"
    }

    /// `main`, `main/binary-amd64` and `Packages` for `main/binary-amd64/Packages.xz`.
    private func tags(of name: String) -> [String] {
        let parts = name.split(separator: "/")
        let stem = parts.last?.prefix { $0 != "." } ?? ""
        let folders = (1...2).filter { $0 < parts.count }
            .map { parts[..<$0].joined(separator: "/") }
        // A tag on the command line has no comma in it.
        return (folders + [String(stem)]).filter { !$0.isEmpty && !$0.contains(",") }
    }
}

/// A line `Name: value`, as Debian's control files have them.
enum DebianField {
    /// The name before the colon; nil for any other line.
    static func name(of line: ListLine) -> Substring? {
        guard !line.isIndented, let colon = line.text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        let name = line.text[..<colon]
        return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? name : nil
    }

    /// The text behind the name and its colon.
    static func value(of line: ListLine, behind name: Substring) -> ListWord {
        let rest = Substring(line.text.utf8[name.endIndex...].dropFirst())
        return line.word(Substring(rest.utf8.drop { $0 == 0x20 || $0 == 0x09 }))
    }

    /// The names of the fields with which a text begins, to the first line that is none.
    static func names(inFirstParagraphOf lines: [ListLine]) -> Set<String> {
        var names: Set<String> = []
        var last: Int?
        for line in lines {
            // Blank lines are not among the lines.
            if let last, line.number > last + 1 { break }
            last = line.number
            guard line.isIndented || name(of: line) != nil else { break }
            if let name = name(of: line) { names.insert(String(name)) }
        }
        return names
    }
}
