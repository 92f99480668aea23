extension ListKind {
    /// `Release` and `InRelease` of a Debian archive: the listed indexes, and the list itself.
    ///
    /// Below `Caches/` the files lie as in the archive, so that apt can read the tree. The list is
    /// pinned to the bytes that were read, because exactly this list names the indexes.
    static var debianRelease: ListKind {
        let keys: Set<String> = ["Suite", "Codename", "Origin", "Label", "Date", "Components"]
        // The fields that list the indexes.
        let lists: Set<String> = ["SHA256", "SHA512", "SHA1", "MD5Sum"]
        return ListKind(
            "a Debian Release file", "plain text", .text(read),
            .fields { !$0.isDisjoint(with: keys) && !$0.isDisjoint(with: lists) },
            name: \.nameOfRelease)
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        // Whether the signature is in the file itself.
        var isSigned = false
        // Whether the archive also has each index under a name made of its digest.
        var isFoundByHash = false
        // The indexes by their digest algorithm, with names relative to the Release file.
        var indexes: [DigestAlgorithm: [ListEntry]] = [:]
        var section: DigestAlgorithm?
        for line in text {
            if line.text.hasPrefix("-----BEGIN PGP SIGNATURE") { break }
            if line.text.hasPrefix("-----BEGIN PGP SIGNED") { isSigned = true }
            if line.isIndented {
                let words = line.words(line.words)
                guard let section, words.count == 3 else { continue }
                var entry = ListEntry(named: words[2])
                (entry.size, entry.digests) = (words[1], [(section, words[0])])
                indexes[section, default: []].append(entry)
            } else if let name = line.fieldName {
                section = ["SHA256": .sha256, "SHA512": .sha512][name]
                if name == "Acquire-By-Hash" {
                    isFoundByHash = line.value(ofField: name).value == "yes"
                }
            }
        }
        guard let found = indexes[.sha256] ?? indexes[.sha512] else {
            collector.log.error(at: TextPosition(), "the Release file has no SHA256 or SHA512")
            return
        }
        add(entry(ofList: try text.whole(), isSigned, collector), to: collector)
        let names = Set(found.compactMap(\.path?.value))
        for var entry in found {
            guard let name = entry.path?.value else { continue }
            if [".xz", ".gz", ".bz2", ".zst"].contains(where: { names.contains(name + $0) }) {
                collector.note(
                    "left out: listed compressed too, and archives mostly have only that",
                    "index", plural: "indexes", at: entry.place)
                continue
            }
            if isFoundByHash { addSourceByHash(to: &entry, collector) }
            add(entry, to: collector)
        }
        collector.note(
            isSigned
                ? "the signature is not verified"
                : "a Release file has its signature beside it, which is not verified", "",
            at: TextPosition())
    }

    /// The Release file itself, with the digest of the bytes that were read.
    private static func entry(
        ofList bytes: [UInt8], _ isSigned: Bool, _ collector: ListCollector
    ) -> ListEntry {
        let name =
            if case .url(let url) = collector.builder.check.origin, let name = url.lastSegment {
                name
            } else { isSigned ? "InRelease" : "Release" }
        let word = ListWord(value: name, place: TextPosition())
        var entry = ListEntry(named: word)
        entry.size = word.with("\(bytes.count)")
        entry.digests = [(.sha256, word.with(ByteHasher.digest(.sha256, of: bytes).hex))]
        return entry
    }

    /// Adds a source of an index whose URL has the index's digest.
    ///
    /// When the archive changes, the index's name leads to a new index, but this URL stays the
    /// same.
    private static func addSourceByHash(to entry: inout ListEntry, _ collector: ListCollector) {
        guard collector.builder.resourceBuilder.base != nil, let name = entry.path,
            let (algorithm, hex) = entry.digests.first
        else { return }
        let parts = name.value.split(separator: "/", omittingEmptySubsequences: false)
        let folder = algorithm == .sha256 ? "SHA256" : "SHA512"
        let other = parts.dropLast() + ["by-hash", folder[...], hex.value[...]]
        entry.mirrors = [name.with(SourceURL.reference(toName: other.joined(separator: "/")))]
    }

    /// Adds a file whose name is relative to the Release file.
    ///
    /// Its target has its place in the archive.
    private static func add(_ file: ListEntry, to collector: ListCollector) {
        guard let name = file.path else { return }
        var entry = file
        if let base = collector.builder.resourceBuilder.base {
            // The folder of the Release file, such as `dists/bookworm/`, if the URL shows it.
            let folders = base.foldersOfRelease.map { ["dists"] + $0 + [""] } ?? []
            entry.path?.value = folders.joined(separator: "/") + name.value
            entry.url = name.with(SourceURL.reference(toName: name.value))
        }
        entry.tags = tags(of: name.value)
        collector.add(entry)
    }

    /// Returns the tags of a file: its component, its folder and its name without extensions.
    ///
    /// For `main/binary-amd64/Packages.xz` these are `main`, `main/binary-amd64` and `Packages`.
    private static func tags(of name: String) -> [String] {
        let parts = name.split(separator: "/")
        let stem = parts.last?.prefix { $0 != "." } ?? ""
        let folders = (1...2).filter { $0 < parts.count }
            .map { parts[..<$0].joined(separator: "/") }
        // A tag must not have a comma, so such a tag is dropped.
        return (folders + [String(stem)]).filter { !$0.isEmpty && !$0.contains(",") }
    }
}

extension SourceURL {
    /// The decoded folders behind `dists/` in a folder's URL.
    ///
    /// A Debian archive has a release in each: `dists/bookworm/`, or `dists/bookworm/updates/`.
    /// `nil` means that there is no such folder, or that one cannot be decoded.
    var foldersOfRelease: [String]? {
        let folders = path.split(separator: "/")
        guard let dists = folders.lastIndex(of: "dists") else { return nil }
        let behind = folders[(dists + 1)...].map { SourceURL.decoded($0) }
        let known = behind.compactMap(\.self)
        return known.isEmpty || known.count < behind.count ? nil : known
    }

    /// The name of a list at this URL: the folders of its release.
    ///
    /// Each release of an archive has an InRelease, and each component a Packages. So the name of
    /// the file is not enough. `nil` means that the URL shows no release.
    var nameOfRelease: String? { beside("./")?.foldersOfRelease?.joined(separator: "-") }
}
