extension ListKind {
    /// A GitHub release as GitHub's API describes it: one release, several, or only its assets.
    static var github: ListKind {
        ListKind(
            "a GitHub release", "JSON", .tree(read),
            .json(
                keys: ["assets", "browser_download_url"],
                isElement: { $0["browser_download_url"] != nil || $0["assets"] != nil }))
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        if tree["browser_download_url"] != nil { return add(tree, in: nil, to: collector) }
        if let assets = tree["assets"] {
            for asset in assets.elements { add(asset, in: nil, to: collector) }
        }
        for element in tree.elements {
            guard let assets = element["assets"] else {
                add(element, in: nil, to: collector)
                continue
            }
            // Files of several releases have the same names, so each release gets its own folder.
            let folder = element["tag_name"]?.string
            for asset in assets.elements { add(asset, in: folder, to: collector) }
        }
    }

    private static func add(_ asset: JSONTree, in folder: String?, to collector: ListCollector) {
        guard let url = asset["browser_download_url"]?.word else {
            let name = asset["name"]?.string ?? ""
            return collector.leaveOut(name, "it has no browser_download_url", at: asset.place)
        }
        if let state = asset["state"]?.string, state != "uploaded" {
            return collector.leaveOut(url, "it is not uploaded yet")
        }
        var entry = ListEntry(at: asset.place)
        entry.url = url
        entry.path = asset["name"]?.word ?? collector.lastSegment(of: url)
        if let folder, let path = entry.path { entry.path?.value = folder + "/" + path.value }
        entry.size = asset["size"]?.number
        if let digest = asset["digest"]?.word, !entry.addDigest(digest, at: ":") {
            collector.note("with a digest that mirror does not compute", "asset", at: digest.place)
        }
        collector.add(entry)
    }
}
