extension ListKind {
    /// Pipfile.lock: the digests of each package's files. A package index supplies the files.
    static var pipfile: ListKind {
        ListKind("Pipfile.lock", "JSON", .tree(read), .json(keys: ["_meta"]))
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        let sources = tree["_meta"]?["sources"]?.elements ?? []
        var indexes: [String: SourceURL] = [:]
        for source in sources {
            guard let name = source["name"]?.string else { continue }
            indexes[name] = source["url"]?.string.flatMap(ListHint.index)
        }
        let first = sources.first?["url"]?.string.flatMap(ListHint.index)
        var withoutIndex: [TextPosition] = []
        // A package may be in several groups, but is one project.
        for group in tree.members where group.key != "_meta" {
            for member in group.value.members {
                let package = member.value
                if package["path"]?.string?.isProjectFolder == true { continue }
                if let url = package["file"]?.word {
                    add(url, member, to: collector)
                    continue
                }
                let name = ListWord(value: member.key, place: member.place)
                let hashes = package["hashes"]?.elements.compactMap(\.word) ?? []
                let digests = hashes.compactMap { Digest(declared: $0.value) }
                guard !digests.isEmpty else {
                    let isFolder = package["version"] == nil
                    collector.leaveOut(
                        name,
                        isFolder
                            ? "it is a folder or a repository, not a file"
                            : "it has no file with a digest")
                    continue
                }
                let own = package["index"]?.string.flatMap { indexes[$0] }
                if let index = collector.hint.index ?? own ?? first {
                    collector.addProject(name, digests, at: index)
                } else {
                    withoutIndex.append(member.place)
                }
            }
        }
        guard let place = withoutIndex.first else { return }
        collector.log.error(
            at: place,
            "its sources name no package index that needs no password", remedy: Remedy(.nameIndex))
    }

    private static func add(
        _ url: ListWord, _ member: JSONTree.Member, to collector: ListCollector
    ) {
        guard url.value.isURL, collector.speaks(url) else {
            if !url.value.isURL {
                collector.leaveOut(
                    member.key, "it is a folder or a file of a project", at: url.place)
            }
            return
        }
        var entry = ListEntry(at: member.place)
        entry.url = url
        entry.folder = "python"
        let hashes = member.value["hashes"]?.elements.compactMap(\.word) ?? []
        if hashes.count == 1 { _ = entry.addDigest(hashes[0], at: ":") }
        entry.tags = [member.key]
        collector.add(entry)
    }
}
