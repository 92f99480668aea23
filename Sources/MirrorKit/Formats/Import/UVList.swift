extension ListKind {
    /// uv.lock: wheels and sdist of each package.
    static var uv: ListKind {
        ListKind(
            "uv.lock", "TOML", .tree(read),
            .toml { tree in
                (tree["package"]?.elements ?? []).contains {
                    !($0["source"]?.members.isEmpty ?? true)
                }
            })
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        for package in tree["package"]?.elements ?? [] {
            let tags = package["name"]?.string.map { [$0] } ?? []
            for wheel in package["wheels"]?.elements ?? [] {
                add(wheel, of: package, tags: tags + ["wheel"], to: collector)
            }
            if let sdist = package["sdist"] {
                add(sdist, of: package, tags: tags + ["sdist"], to: collector)
            }
            if package["source"]?["registry"] != nil, package["wheels"] == nil,
                package["sdist"] == nil
            {
                collector.leaveOut(package.packageName, "it names no file", at: package.place)
            }
            if package["source"]?["git"] != nil {
                collector.leaveOut(
                    package.packageName, "it is a repository, not a file", at: package.place)
            }
        }
    }

    private static func add(
        _ file: JSONTree, of package: JSONTree, tags: [String], to collector: ListCollector
    ) {
        // A package that was named by its URL has this URL in its source.
        guard let url = file["url"]?.word ?? package["source"]?["url"]?.word else {
            let name = file["filename"]?.string ?? file["path"]?.string ?? package.packageName
            return collector.leaveOut(name, "it has no URL", at: file.place)
        }
        guard collector.speaks(url) else { return }
        var entry = ListEntry(at: file.place)
        entry.url = url
        entry.folder = "python"
        entry.size = file["size"]?.number
        entry.tags = tags
        if let hash = file["hash"]?.word, !entry.addDigest(hash, at: ":") {
            let text = Quoted(hash.value, limit: 40)
            return collector.leaveOut(url, "its hash \(text) is none that mirror computes")
        }
        collector.add(entry)
    }
}
