extension ListKind {
    /// pylock.toml (PEP 751): wheels, sdist and archive of each package.
    static var pylock: ListKind {
        ListKind(
            "pylock.toml", "TOML", .tree(read),
            .toml { $0["lock-version"] != nil && $0["packages"] != nil })
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        for package in tree["packages"]?.elements ?? [] {
            let wheels = package["wheels"]?.elements ?? []
            let name = package["name"]?.string.map { [$0] } ?? []
            for wheel in wheels { add(wheel, of: package, tags: name + ["wheel"], to: collector) }
            if let sdist = package["sdist"] {
                add(sdist, of: package, tags: name + ["sdist"], to: collector)
            }
            if let archive = package["archive"] {
                add(archive, of: package, tags: name, to: collector)
            }
            let isOwn = package["directory"]?["path"]?.string?.isProjectFolder == true
            if package["vcs"] != nil || package["directory"] != nil && !isOwn {
                collector.leaveOut(
                    package.packageName, "it is a repository or a folder, not a file",
                    at: package.place)
            }
        }
    }

    private static func add(
        _ file: JSONTree, of package: JSONTree, tags: [String], to collector: ListCollector
    ) {
        guard let url = file["url"]?.word else {
            let name = file["name"]?.string ?? file["path"]?.string ?? package.packageName
            return collector.leaveOut(name, "it has no URL", at: file.place)
        }
        guard collector.speaks(url) else { return }
        var entry = ListEntry(at: file.place)
        entry.url = url
        entry.folder = "python"
        if let name = file["name"]?.word, name.value != collector.lastSegment(of: url)?.value {
            entry.path = name.with("python/" + name.value)
        }
        entry.size = file["size"]?.number
        entry.tags = tags
        for hash in file["hashes"]?.members ?? [] {
            guard let hex = hash.value.word, !entry.addDigest(hash.key, hex) else { continue }
            collector.noteUnknownDigest(hash.key, at: hash.place)
        }
        collector.add(entry)
    }
}
