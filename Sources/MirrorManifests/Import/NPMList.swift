internal import MirrorModel

/// package-lock.json: `packages` of versions 2 and 3 has an entry for each folder in node_modules;
/// version 1 has `dependencies`, which nest.
enum NPMList {
    static var kind: ListKind {
        ListKind("package-lock.json", "JSON", .tree(read), .json(keys: ["lockfileVersion"]))
    }

    /// The registry at which npm looks where nothing else is said.
    static let registry = "https://registry.npmjs.org/"

    static func read(_ tree: JSONTree, into collector: ListCollector) {
        guard let packages = tree["packages"] else {
            return addAll(tree["dependencies"], to: collector)
        }
        for member in packages.members where !member.key.isEmpty {
            // A link leads to a folder of the project, which has an entry of its own.
            guard member.value["link"]?.bool != true,
                let start = member.key.ranges(of: "node_modules/").last
            else { continue }
            // The package's own name differs from the folder's for an alias.
            let folder = String(member.key[start.upperBound...])
            let name = member.value["name"]?.string ?? folder
            add(member.value, name, at: member.place, to: collector)
        }
    }

    /// Adds the packages of version 1, in which an alias and a place are written as a version.
    private static func addAll(_ dependencies: JSONTree?, to collector: ListCollector) {
        for member in dependencies?.members ?? [] {
            add(member.value, member.key, at: member.place, to: collector)
            addAll(member.value["dependencies"], to: collector)
        }
    }

    private static func add(
        _ package: JSONTree, _ name: String, at place: TextPosition, to collector: ListCollector
    ) {
        var (name, version) = (name, package["version"]?.string ?? "")
        if version.hasPrefix("npm:"), let (real, number) = version.halves(atLast: "@") {
            (name, version) = (String(real.dropFirst(4)), String(number))
        }
        let label = version.isEmpty ? name : "\(name)@\(version)"
        let resolved = package["resolved"]?.word
        if resolved == nil, package["inBundle"]?.bool ?? package["bundled"]?.bool == true {
            collector.note("left out: part of another package", "package", at: place)
            return
        }
        let isVersion = isVersion(version)
        var entry = ListEntry(at: place)
        // Version 1 has the URL of an archive as its version.
        let url = resolved ?? (version.hasPrefix("http") ? package["version"]?.word : nil)
        guard url != nil || isVersion else {
            return collector.leaveOut(label, "its version is no version of a registry", at: place)
        }
        guard url?.value.lowercased().hasPrefix("http") ?? true else {
            return collector.leaveOut(
                label, "it is a folder or a repository, not a file", at: place)
        }
        entry.url = url ?? ListWord(value: self.url(name, version, collector), place: place)
        entry.path = ListWord(value: path(name, isVersion ? version : nil), place: place)
        if !isVersion, let url { entry.path = collector.lastSegment(of: url).map(inFolder) }
        entry.integrity = package["integrity"]?.word
        entry.tags = [name] + tags(of: package)
        collector.add(entry)
    }

    /// Where a registry has a package.
    static func url(_ name: String, _ version: String, _ collector: ListCollector) -> String {
        let base = collector.hint.registry?.textWithSecrets ?? registry
        let file = name.split(separator: "/").last ?? ""
        // A registry knows no build metadata.
        let number = version.prefix { $0 != "+" }
        let path = SourceURL.reference(toName: "\(name)/-/\(file)-\(number).tgz").dropFirst(2)
        return base + path
    }

    /// The path of a package in `Caches/`.
    static func path(_ name: String, _ version: String?) -> String {
        "npm/" + name + (version.map { "-" + $0 } ?? "") + ".tgz"
    }

    private static func inFolder(_ name: ListWord) -> ListWord {
        ListWord(value: "npm/" + name.value, place: name.place)
    }

    /// Whether a text is a version, and not a URL, a path or a repository.
    static func isVersion(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || ".-+".utf8.contains(byte)
        }
        return isPlain && text.utf8.first.map { (0x30...0x39).contains($0) } ?? false
    }

    /// A package that is needed by one of two kinds is of both, and goes only with both.
    private static func tags(of package: JSONTree) -> [String] {
        let has = { (key: String) in package[key]?.bool == true }
        return (has("dev") ? ["dev"] : []) + (has("optional") ? ["optional"] : [])
            + (has("devOptional") ? ["dev+optional"] : [])
    }
}
