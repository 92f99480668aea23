extension ListKind {
    /// Cargo.lock: the packages that come from crates.io.
    static var cargo: ListKind {
        ListKind(
            "Cargo.lock", "TOML", .tree(read),
            .toml { tree in
                (tree["package"]?.elements ?? []).contains { $0["source"]?.string != nil }
            })
    }

    private static let registries = [
        "registry+https://github.com/rust-lang/crates.io-index",
        "sparse+https://index.crates.io/",
    ]

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        let packages = tree["package"]?.elements ?? []
        // `NAME`, `NAME VERSION` or `NAME VERSION (SOURCE)`.
        let needed = Set(
            packages.flatMap { $0["dependencies"]?.elements ?? [] }
                .compactMap { $0.string?.split(separator: " ").first })
        for package in packages {
            guard let source = package["source"]?.string else {
                // Cargo.lock does not tell a member of the workspace from a folder beside it.
                if needed.contains(package["name"]?.string?[...] ?? "") {
                    collector.note(
                        "left out: without a source, so in a folder of the project or beside it",
                        "package", at: package.place)
                }
                continue
            }
            guard registries.contains(source) else {
                collector.leaveOut(
                    package.packageName,
                    "it comes from a repository or a registry other than crates.io",
                    at: package.place)
                continue
            }
            add(package, tree["metadata"], source, to: collector)
        }
    }

    private static func add(
        _ package: JSONTree, _ metadata: JSONTree?, _ source: String, to collector: ListCollector
    ) {
        guard let name = package["name"]?.word, let version = package["version"]?.word else {
            collector.leaveOut(
                package.packageName, "it has no name or no version", at: package.place)
            return
        }
        let file = "\(name.value)-\(version.value).crate"
        var entry = ListEntry(at: package.place)
        let path = SourceURL.reference(toName: "\(name.value)/\(file)").dropFirst(2)
        entry.tags = [name.value]
        entry.url = name.with("https://static.crates.io/crates/" + path)
        entry.path = name.with("cargo/" + file)
        // Version 1 of the format has the checksums in `metadata`.
        let old = metadata?["checksum \(name.value) \(version.value) (\(source))"]
        if let checksum = package["checksum"]?.word ?? old?.word {
            entry.digests = [(.sha256, checksum)]
        }
        collector.add(entry)
    }
}
