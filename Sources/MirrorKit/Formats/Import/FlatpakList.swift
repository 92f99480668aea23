extension ListKind {
    /// Sources of flatpak-builder: an array of sources, or a module or manifest with sources.
    static var flatpak: ListKind {
        ListKind(
            "flatpak-builder sources", "JSON", .tree(read),
            .json(keys: ["sources", "modules"]) { element in
                element["type"]?.string.map(kinds.contains) ?? false
            })
    }

    /// The values of `type` that a source of flatpak-builder may have.
    private static let kinds: Set<String> = [
        "archive", "file", "extra-data", "git", "bzr", "svn", "dir", "script", "inline", "shell",
        "patch",
    ]

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        for source in tree.elements + (tree["sources"]?.elements ?? []) {
            add(source, to: collector)
        }
        for module in tree["modules"]?.elements ?? [] { read(module, into: collector) }
    }

    private static func add(_ source: JSONTree, to collector: ListCollector) {
        guard let url = source["url"]?.word, hasFile(source) else {
            let type = source["type"]?.string ?? source.string ?? ""
            if let url = source["url"]?.word {
                collector.leaveOut(url, "a source of type \(Quoted(type, limit: 40)) is no file")
            } else {
                collector.note(
                    "left out: no file is fetched for \(Quoted(type, limit: 40))", "source",
                    at: source.place)
            }
            return
        }
        let urls = collector.spoken(
            [url] + (source["mirror-urls"]?.elements ?? []).compactMap(\.word))
        guard !urls.isEmpty else { return }
        var entry = ListEntry(at: source.place)
        entry.setSources(urls)
        entry.path = path(of: source, url, collector)
        for name in ["sha256", "sha512", "sha1", "md5"] {
            if let digest = source[name]?.word { _ = entry.addDigest(name, digest) }
        }
        entry.size = source["size"]?.number
        collector.add(entry)
    }

    private static func hasFile(_ source: JSONTree) -> Bool {
        ["archive", "file", "extra-data"].contains(source["type"]?.string)
    }

    private static func path(
        of source: JSONTree, _ url: ListWord, _ collector: ListCollector
    ) -> ListWord? {
        guard
            var path = source["dest-filename"]?.word ?? source["filename"]?.word
                ?? collector.lastSegment(of: url)
        else { return nil }
        if let folder = source["dest"]?.word, folder.value != "." {
            let end = folder.value.utf8.last == UInt8(ascii: "/") ? "" : "/"
            path.value = folder.value.withoutDotSlash + end + path.value
        }
        return path
    }
}
