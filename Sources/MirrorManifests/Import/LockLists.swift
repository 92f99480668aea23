internal import MirrorModel

/// The lock files in TOML, told apart by their keys.
enum LockLists {
    /// Whether a line belongs to a lock file in TOML, as far as the line shows.
    static func flaw(_ line: ListLine) -> String? {
        let text = line.trimmed
        let begins = [
            "[[package]]", "[[packages]]", "[package]", "[metadata]", "[options]", "[manifest]",
        ]
        if begins.contains(where: text.hasPrefix) { return nil }
        guard let (key, value) = text.halves(atFirst: "="), !key.isEmpty else {
            return "neither opens a table such as [[package]] nor sets a key"
        }
        let isKey = key.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-_. \t\"'".utf8.contains(byte)
        }
        return isKey && value.utf8.first != UInt8(ascii: "=") ? nil : "sets no key"
    }

    /// Reads a lock file of any of the formats, or of the one that is wanted.
    static func read(
        _ text: ListText, wanted: ListFormat?, _ reader: ListReader
    ) throws(DecodingStop) -> ListCollector {
        let log = reader.builder.log
        let tree = try TOMLParser.tree(of: text, log: log)
        guard let format = wanted ?? format(of: tree) else {
            log.error(
                at: TextPosition(),
                "this is TOML, but none of the lists in TOML that mirror reads (pylock, uv, cargo):"
                    + " it has neither lock-version nor a [[package]] with a source",
                remedy: Remedy(.nameFormat))
            throw .refused
        }
        let collector = ListCollector(format, builder: reader.builder, hint: reader.hint)
        switch format {
        case .pylock: PylockList.read(tree, into: collector)
        case .uv: UVList.read(tree, into: collector)
        default: CargoList.read(tree, into: collector)
        }
        return collector
    }

    private static func format(of tree: JSONTree) -> ListFormat? {
        if tree["lock-version"] != nil, tree["packages"] != nil { return .pylock }
        let packages = tree["package"]?.elements ?? []
        if packages.contains(where: { !($0["source"]?.members.isEmpty ?? true) }) { return .uv }
        return packages.contains { $0["source"]?.string != nil } ? .cargo : nil
    }
}

/// pylock.toml (PEP 751): wheels, sdist and archive of each package.
enum PylockList {
    static func read(_ tree: JSONTree, into collector: ListCollector) {
        for package in tree["packages"]?.elements ?? [] {
            let wheels = package["wheels"]?.elements ?? []
            let name = package["name"]?.string.map { [$0] } ?? []
            for wheel in wheels { add(wheel, tags: name + ["wheel"], to: collector) }
            if let sdist = package["sdist"] { add(sdist, tags: name + ["sdist"], to: collector) }
            if let archive = package["archive"] { add(archive, tags: name, to: collector) }
            if package["vcs"] != nil || package["directory"] != nil {
                collector.note(
                    "left out: a repository or a folder, not a file", "package",
                    at: package.place)
            }
        }
    }

    private static func add(_ file: JSONTree, tags: [String], to collector: ListCollector) {
        guard let url = file["url"]?.word else {
            collector.note("left out: no URL is given", "file", at: file.place)
            return
        }
        guard collector.speaks(url) else { return }
        var entry = ListEntry(at: file.place)
        entry.url = url
        entry.path = file["name"]?.word ?? collector.lastSegment(of: url)
        if let path = entry.path { entry.path?.value = "python/" + path.value }
        entry.size = file["size"]?.number
        entry.tags = tags
        for hash in file["hashes"]?.members ?? [] {
            guard let hex = hash.value.word, !entry.addDigest(hash.key, hex) else { continue }
            collector.noteUnknownDigest(hash.key, at: hash.place)
        }
        collector.add(entry)
    }
}

/// uv.lock: wheels and sdist of each package.
enum UVList {
    static func read(_ tree: JSONTree, into collector: ListCollector) {
        for package in tree["package"]?.elements ?? [] {
            let source = package["source"]
            let name = package["name"]?.string.map { [$0] } ?? []
            for wheel in package["wheels"]?.elements ?? [] {
                add(wheel, from: source, tags: name + ["wheel"], to: collector)
            }
            if let sdist = package["sdist"] {
                add(sdist, from: source, tags: name + ["sdist"], to: collector)
            }
            if source?["git"] != nil {
                collector.note(
                    "left out: a repository, not a file", "package", at: package.place)
            }
        }
    }

    private static func add(
        _ file: JSONTree, from source: JSONTree?, tags: [String], to collector: ListCollector
    ) {
        // A package that was named by its URL has it in its source.
        guard let url = file["url"]?.word ?? source?["url"]?.word else {
            collector.note("left out: no URL is given", "file", at: file.place)
            return
        }
        guard collector.speaks(url) else { return }
        var entry = ListEntry(at: file.place)
        entry.url = url
        entry.path = collector.lastSegment(of: url)
        if let path = entry.path { entry.path?.value = "python/" + path.value }
        entry.size = file["size"]?.number
        entry.tags = tags
        if let hash = file["hash"]?.word, !entry.addDigest(hash, at: ":") {
            collector.log.error(
                at: hash.place,
                "hash \(Quoted(hash.value, limit: 40)): write sha256: and the digits")
        }
        collector.add(entry)
    }
}

/// Cargo.lock: the packages that come from crates.io.
enum CargoList {
    private static let registries = [
        "registry+https://github.com/rust-lang/crates.io-index",
        "sparse+https://index.crates.io/",
    ]

    static func read(_ tree: JSONTree, into collector: ListCollector) {
        for package in tree["package"]?.elements ?? [] {
            // What has no source belongs to the project itself.
            guard let source = package["source"]?.string else { continue }
            guard registries.contains(source) else {
                collector.note(
                    "left out: from a repository or registry other than crates.io",
                    "package", at: package.place)
                continue
            }
            add(package, tree["metadata"], source, to: collector)
        }
    }

    private static func add(
        _ package: JSONTree, _ metadata: JSONTree?, _ source: String, to collector: ListCollector
    ) {
        guard let name = package["name"]?.word, let version = package["version"]?.word else {
            collector.log.error(at: package.place, "the package has no name or no version")
            return
        }
        let file = "\(name.value)-\(version.value).crate"
        var entry = ListEntry(at: package.place)
        let path = SourceURL.reference(toName: "\(name.value)/\(file)").dropFirst(2)
        entry.tags = [name.value]
        entry.url = ListWord(value: "https://static.crates.io/crates/" + path, place: name.place)
        entry.path = ListWord(value: "cargo/" + file, place: name.place)
        // Version 1 keeps the checksums apart.
        let old = metadata?["checksum \(name.value) \(version.value) (\(source))"]
        if let checksum = package["checksum"]?.word ?? old?.word {
            entry.digests = [(.sha256, checksum)]
        }
        collector.add(entry)
    }
}
