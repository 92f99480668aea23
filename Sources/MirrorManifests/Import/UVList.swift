internal import MirrorModel

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
