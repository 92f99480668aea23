extension ListKind {
    /// poetry.lock: the names and digests of each package's files.
    ///
    /// A package index supplies the files.
    static var poetry: ListKind {
        ListKind(
            "poetry.lock", "TOML", .tree(read), .toml { $0["metadata"]?["content-hash"] != nil })
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        let metadata = tree["metadata"]
        var withoutIndex: [TextPosition] = []
        for package in tree["package"]?.elements ?? [] {
            guard let name = package["name"]?.word else { continue }
            // Older versions of the format have the files in `metadata`.
            let files = package["files"] ?? metadata?["files"]?[name.value]
            let hashes =
                files?.elements.compactMap { $0["hash"]?.word }
                ?? metadata?["hashes"]?[name.value]?.elements.compactMap(\.word) ?? []
            let source = package["source"]
            switch source?["type"]?.string {
            case "url": add(package, source?["url"]?.word, hashes, to: collector)
            case "git", "directory", "file":
                collector.leaveOut(
                    package.packageName, "it is a folder or a repository, not a file",
                    at: package.place)
            default:
                let own = source?["url"]?.string.flatMap(ListHint.index)
                guard let index = collector.hint.index ?? own else {
                    withoutIndex.append(package.place)
                    continue
                }
                let digests = hashes.compactMap { Digest(declared: $0.value) }
                if digests.isEmpty {
                    collector.leaveOut(
                        package.packageName, "it has no file with a digest", at: package.place)
                } else {
                    collector.addProject(name, digests, at: index)
                }
            }
        }
        guard let first = withoutIndex.first else { return }
        collector.log.error(
            at: first,
            "\(Counted(withoutIndex.count, "package")) of it \(Counted.verb(withoutIndex.count, "has", "have"))"
                + " digests and no URLs, which only a package index knows. Or take what"
                + " `poetry export -f pylock.toml -o pylock.toml` writes.",
            remedy: Remedy(.nameIndex))
    }

    private static func add(
        _ package: JSONTree, _ url: ListWord?, _ hashes: [ListWord], to collector: ListCollector
    ) {
        guard let url else {
            return collector.leaveOut(package.packageName, "it has no URL", at: package.place)
        }
        guard collector.speaks(url) else { return }
        var entry = ListEntry(at: package.place)
        entry.url = url
        entry.folder = "python"
        if hashes.count == 1 { _ = entry.addDigest(hashes[0], at: ":") }
        entry.tags = package["name"]?.string.map { [$0] } ?? []
        collector.add(entry)
    }
}

extension ListHint {
    /// Returns the URL of a package index that a list names.
    ///
    /// Returns nil if the URL is invalid or is one that a hint cannot keep, such as a `file:` URL.
    static func index(_ url: String) -> SourceURL? {
        guard let url = try? SourceURL(url), url.scheme != .file else { return nil }
        return try? ListHint(format: nil, base: nil, index: url).index
    }
}

extension Digest {
    /// Reads `sha256:…`, or digits alone, whose number gives the algorithm.
    ///
    /// Returns nil for any other text.
    init?(declared text: String) {
        let (name, hex) = text.halves(atFirst: ":") ?? ("", text[...])
        let algorithm = DigestAlgorithm(rawValue: name.lowercased()) ?? DigestAlgorithm(ofHex: hex)
        guard let algorithm else { return nil }
        self.init(algorithm, hex: hex)
    }
}
