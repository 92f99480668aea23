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
        let members = tree["manifest"]?["members"]?.elements.compactMap(\.string) ?? []
        for package in tree["package"]?.elements ?? [] {
            let tags = package["name"]?.string.map { [$0] } ?? []
            for wheel in package["wheels"]?.elements ?? [] {
                add(wheel, of: package, tags: tags + ["wheel"], to: collector)
            }
            if let sdist = package["sdist"] {
                add(sdist, of: package, tags: tags + ["sdist"], to: collector)
            }
            let source = package["source"]
            let folder = ["editable", "virtual", "directory"].lazy.compactMap { source?[$0] }.first
            if source?["git"] != nil {
                collector.leaveOut(
                    package.packageName, "it is a repository, not a file", at: package.place)
            } else if let folder {
                // The members of a workspace belong to the project, as its own package does.
                let isOwn =
                    folder.string?.isProjectFolder == true
                    || members.contains(package["name"]?.string ?? "")
                if !isOwn {
                    collector.leaveOut(
                        package.packageName, "it is a folder, not a file", at: package.place)
                }
            } else if package["wheels"] == nil, package["sdist"] == nil {
                collector.leaveOut(package.packageName, "it names no file", at: package.place)
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
