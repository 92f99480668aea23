internal import MirrorModel

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
