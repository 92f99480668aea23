internal import MirrorModel

/// package-lock.json, version 2 and 3: `packages` has an entry for each folder in node_modules.
enum NPMList {
    static func read(_ tree: JSONTree, into collector: ListCollector) {
        guard let packages = tree["packages"] else {
            collector.log.error(
                at: tree["lockfileVersion"]?.place ?? tree.place,
                "package-lock.json of version 1 has no packages; npm 7 or later writes them")
            return
        }
        for member in packages.members where !member.key.isEmpty {
            add(member.value, at: member.key, member.place, to: collector)
        }
    }

    private static func add(
        _ package: JSONTree, at folder: String, _ place: TextPosition, to collector: ListCollector
    ) {
        // A link leads to a folder of the project, which has an entry of its own.
        guard package["link"]?.bool != true, let name = name(of: package, at: folder) else {
            return
        }
        guard let url = package["resolved"]?.word else {
            collector.note(
                "left out: no URL, as with those that come inside others", "package", at: place)
            return
        }
        guard URLList.isURL(url.value), url.value.lowercased().hasPrefix("http") else {
            collector.note(
                "left out: a folder or a repository, not a file", "package",
                at: url.place)
            return
        }
        var entry = ListEntry(at: place)
        entry.url = url
        entry.path = path(name, package["version"]?.word, at: place)
        entry.integrity = package["integrity"]?.word
        entry.tags = [name] + tags(of: package)
        collector.add(entry)
    }

    /// The package's own name, which differs from the folder's for an alias; nil outside node_modules.
    private static func name(of package: JSONTree, at folder: String) -> String? {
        guard let start = folder.ranges(of: "node_modules/").last else { return nil }
        return package["name"]?.string ?? String(folder[start.upperBound...])
    }

    private static func path(_ name: String, _ version: ListWord?, at place: TextPosition)
        -> ListWord
    {
        let end = version.map { "-" + $0.value } ?? ""
        return ListWord(value: "npm/\(name)\(end).tgz", place: place)
    }

    private static func tags(of package: JSONTree) -> [String] {
        let has = { (key: String) in package[key]?.bool == true }
        return (has("dev") || has("devOptional") ? ["dev"] : [])
            + (has("optional") || has("devOptional") ? ["optional"] : [])
    }
}
