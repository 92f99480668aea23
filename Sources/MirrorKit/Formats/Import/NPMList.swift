extension ListKind {
    /// package-lock.json, with one entry for each package.
    ///
    /// In versions 2 and 3, `packages` has an entry for each folder in node_modules. In version 1,
    /// `dependencies` has nested entries.
    static var npm: ListKind {
        ListKind("package-lock.json", "JSON", .tree(read), .json(keys: ["lockfileVersion"]))
    }

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        guard let packages = tree["packages"] else {
            return addAll(tree["dependencies"], to: collector)
        }
        let workspaces = Workspaces(of: packages[""])
        for member in packages.members {
            // A folder outside of node_modules is the project itself, or what a link leads to.
            guard let start = member.key.ranges(of: "node_modules/").last else { continue }
            // For an alias, the package's own name differs from the folder's.
            let folder = String(member.key[start.upperBound...])
            let name = member.value["name"]?.string ?? folder
            if member.value["link"]?.bool == true {
                if !workspaces.contains(member.value["resolved"]?.string) {
                    collector.leaveOut(name, "it is a folder, not a file", at: member.place)
                }
            } else {
                add(member.value, name, at: member.place, to: collector)
            }
        }
    }

    /// The folders of a project: its own, and its workspaces, which package.json names by patterns.
    private struct Workspaces {
        private var names: Set<String> = ["", "."]
        private var patterns: [TargetPattern] = []

        init(of project: JSONTree?) {
            let member = project?["workspaces"]
            for element in (member?["packages"] ?? member)?.elements ?? [] {
                guard var text = element.string?.withoutDotSlash else { continue }
                if text.hasSuffix("/") { text.removeLast() }
                names.insert(text)
                // Each link is compared with each pattern, so there are few.
                guard text.contains("*"), patterns.count < 64 else { continue }
                if let pattern = TargetPattern(text) { patterns.append(pattern) }
            }
        }

        func contains(_ path: String?) -> Bool {
            guard let path else { return false }
            return names.contains(path) || patterns.contains { $0.matches(path) }
        }
    }

    /// Adds the packages of version 1, which writes an alias or a place as the version.
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
        let isVersion = version.isNPMVersion
        // Version 1 may have the URL of an archive as the version.
        let url = resolved ?? (version.hasPrefix("http") ? package["version"]?.word : nil)
        guard url != nil || isVersion else {
            return collector.leaveOut(label, "its version is no version of a registry", at: place)
        }
        guard url?.value.lowercased().hasPrefix("http") ?? true else {
            return collector.leaveOut(
                label, "it is a folder or a repository, not a file", at: place)
        }
        let word = ListWord(value: name, place: place)
        var entry = ListEntry(npm: word, version)
        entry.url = url ?? word.with(collector.npmURL(name, version))
        if !isVersion, let url {
            entry.path = collector.lastSegment(of: url).map { $0.with("npm/" + $0.value) }
        }
        entry.integrity = package["integrity"]?.word
        entry.tags += tags(of: package)
        collector.add(entry)
    }

    /// Returns the tags of a package.
    ///
    /// A `devOptional` package is needed by a dev and by an optional package. It has a tag of its
    /// own, because only a choice without both kinds can do without it.
    private static func tags(of package: JSONTree) -> [String] {
        let has = { (key: String) in package[key]?.bool == true }
        return (has("dev") ? ["dev"] : []) + (has("optional") ? ["optional"] : [])
            + (has("devOptional") ? ["dev+optional"] : [])
    }
}

// MARK: Packages of npm, which yarn and pnpm lock too

extension ListEntry {
    /// Makes an entry for a package from its name and its version.
    init(npm name: ListWord, _ version: String) {
        self.init(named: name.with("npm/\(name.value)-\(version).tgz"))
        tags = [name.value]
    }
}

extension ListCollector {
    /// Returns the URL of a package at the given registry, or at npm's default registry.
    func npmURL(_ name: String, _ version: String) -> String {
        let base = hint.registry?.textWithSecrets ?? "https://registry.npmjs.org/"
        let file = name.split(separator: "/").last ?? ""
        // A registry does not know build metadata, which begins with `+`.
        let number = version.prefix { $0 != "+" }
        return base + SourceURL.reference(toName: "\(name)/-/\(file)-\(number).tgz").dropFirst(2)
    }
}

extension String {
    /// Whether the text is a version, and not a URL, a path or a repository.
    var isNPMVersion: Bool {
        let isPlain = utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || ".-+".utf8.contains(byte)
        }
        return isPlain && utf8.first.map { (0x30...0x39).contains($0) } ?? false
    }
}
