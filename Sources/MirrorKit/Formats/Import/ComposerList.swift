extension ListKind {
    /// composer.lock: the archive (`dist`) of each package.
    static var composer: ListKind {
        ListKind(
            "composer.lock", "JSON", .tree(read), .json(keys: ["packages-dev", "content-hash"]))
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        for package in tree["packages"]?.elements ?? [] { add(package, [], to: collector) }
        for package in tree["packages-dev"]?.elements ?? [] { add(package, ["dev"], to: collector) }
    }

    private static func add(_ package: JSONTree, _ tags: [String], to collector: ListCollector) {
        let dist = package["dist"]
        guard let url = dist?["url"]?.word, url.value.isURL else {
            return collector.leaveOut(
                package.packageName, "it is a folder or a repository, not a file", at: package.place
            )
        }
        guard collector.speaks(url, name: package.packageName) else { return }
        var entry = ListEntry(at: package.place)
        entry.url = url
        let name = package["name"]?.string ?? ""
        // A version may be the name of a branch, which may have slashes.
        let version = (package["version"]?.string ?? "").split(separator: "/").joined(
            separator: "-")
        let type = dist?["type"]?.string ?? "zip"
        entry.path = url.with("composer/\(name)-\(version).\(type)")
        if let sum = dist?["shasum"]?.word { entry.digests = [(.sha1, sum)] }
        entry.tags = [name] + tags
        collector.add(entry)
    }
}
