extension ListKind {
    /// pnpm-lock.yaml, version 5 to 9: the keys of `packages` are names and versions.
    ///
    /// pnpm writes a small part of YAML: one key a line, and two spaces for each level.
    /// `resolution` is `{integrity: …, tarball: …}`, or has lines of its own.
    static var pnpm: ListKind {
        ListKind(
            "pnpm-lock.yaml", "plain text", .text(read),
            .line { $0.text.hasPrefix("lockfileVersion:") })
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var isInPackages = false
        var isInResolution = false
        var key: ListWord?
        var values: [Substring: ListWord] = [:]
        var links = FolderLinks()
        for line in text.telling {
            let depth = line.text.utf8.prefix { $0 == 0x20 }.count
            links.read(line, at: depth)
            if depth <= 2 {
                if let key { add(key, values, to: collector) }
                (key, values, isInResolution) = (nil, [:], false)
            }
            let text = line.trimmed
            switch depth {
            case 0: isInPackages = line.text.hasPrefix("packages:")
            case 2 where isInPackages:
                key = line.word(plain(text.hasSuffix(":") ? text.dropLast() : text))
            case 4 where key != nil:
                isInResolution = text.hasPrefix("resolution:")
                set(line, in: &values)
            case 6 where isInResolution: set(line, in: &values)
            default: break
            }
        }
        if let key { add(key, values, to: collector) }
        for name in links.beside {
            collector.leaveOut(name, "it is a folder, not a file")
        }
    }

    /// The links to folders, in the sections before `packages`: `NAME: link:FOLDER`, or `version:
    /// link:FOLDER` below the name. The folder begins at the project, a key of `importers`.
    private struct FolderLinks {
        /// The parts of a folder's path from the workspace; nil for a folder outside.
        private typealias Folder = [Substring]?

        private var isOfProjects = false
        private var isOfDependencies = false
        private var project: Folder = []
        private var name: ListWord?
        private var projects: Set<Folder> = [[]]
        private var links: [String: (name: ListWord, folder: Folder)] = [:]

        /// The names of folders that are no project of the workspace, in the order of the text.
        var beside: [ListWord] {
            links.values
                .filter { $0.folder == nil || !projects.contains($0.folder) }
                .map(\.name)
                .sorted { $0.place < $1.place }
        }

        mutating func read(_ line: ListLine, at depth: Int) {
            let text = line.trimmed
            if depth == 0 {
                isOfProjects = text == "importers:"
                isOfDependencies = text.lowercased().hasSuffix("dependencies:")
                project = []
            }
            guard isOfProjects || isOfDependencies, let (key, rest) = text.halves(atFirst: ":")
            else { return }
            let value = plain(rest.drop { $0 == " " })
            if isOfProjects, depth == 2 {
                project = FolderLinks.folder(plain(key), from: [])
                if project != nil { projects.insert(project) }
            } else if value.isEmpty {
                name = line.word(plain(key))
            } else if value.hasPrefix("link:"), key != "specifier",
                let name = key == "version" ? name : line.word(plain(key))
            {
                let folder = FolderLinks.folder(value.dropFirst(5), from: project)
                links["\(name.value) \(folder?.joined(separator: "/") ?? "..")"] = (name, folder)
            }
        }

        private static func folder(_ path: Substring, from start: Folder) -> Folder {
            // The parts are kept for each link, so a path that is deeper or longer (PATH_MAX) than
            // those of projects counts as outside.
            guard var parts = start, !path.hasPrefix("/"), path.utf8.count <= 4096 else {
                return nil
            }
            for part in path.parts(at: "/") where part != "." {
                guard part == ".." else {
                    parts.append(part)
                    continue
                }
                if parts.popLast() == nil { return nil }
            }
            return parts.count <= 32 ? parts : nil
        }
    }

    /// Reads `NAME: VALUE`, or the names and values in `resolution: {…}`.
    private static func set(_ line: ListLine, in values: inout [Substring: ListWord]) {
        guard let (name, value) = line.trimmed.halves(atFirst: ":") else { return }
        let rest = value.drop { $0 == " " }
        guard rest.hasPrefix("{"), rest.hasSuffix("}") else {
            values[name] = line.word(plain(rest))
            return
        }
        guard name == "resolution" else { return }
        let place = line.place(of: rest)
        for part in rest.dropFirst().dropLast().parts(at: ",") {
            guard let (name, value) = part.halves(atFirst: ":") else { continue }
            let text = plain(value.drop { $0 == " " })
            values[name.drop { $0 == " " }] = ListWord(value: String(text), place: place)
        }
    }

    /// Returns a text without the quotation marks around it.
    private static func plain(_ text: Substring) -> Substring {
        guard let mark = text.first, mark == "'" || mark == "\"", text.count > 1,
            text.last == mark
        else { return text }
        return text.dropFirst().dropLast()
    }

    private static func add(
        _ key: ListWord, _ values: [Substring: ListWord], to collector: ListCollector
    ) {
        let (own, found) = identity(key.value)
        let name = values["name"]?.value ?? own
        let tarball = values["tarball"]
        // Beside a tarball, `version` is the package's own. Otherwise it may be the version of a
        // runtime.
        let version = tarball == nil ? found : values["version"]?.value ?? found
        let label = key.with("\(name)@\(version)")
        if values["directory"] != nil || values["repo"] != nil {
            return collector.leaveOut(label, "it is a folder or a repository, not a file")
        }
        guard tarball != nil || version.isNPMVersion else {
            return collector.leaveOut(label, "its version is no version of a registry")
        }
        guard tarball.map({ $0.value.isURL && !$0.value.hasPrefix("file:") }) ?? true else {
            return collector.leaveOut(label, "it is a folder or a repository, not a file")
        }
        var entry = ListEntry(npm: key.with(name), version)
        entry.url = tarball ?? key.with(collector.npmURL(name, version))
        if !version.isNPMVersion { (entry.path, entry.folder) = (nil, "npm") }
        entry.integrity = values["integrity"]
        entry.tags += ["dev", "optional"].filter { values[$0[...]]?.value == "true" }
        collector.add(entry)
    }

    /// Splits a key into the package's name and version.
    ///
    /// The key is `/NAME/VERSION_PEERS`, `/NAME@VERSION(PEERS)` or `NAME@VERSION`.
    private static func identity(_ key: String) -> (name: String, version: String) {
        var text = key[...]
        if let (before, _) = text.halves(atFirst: "(") { text = before }
        let isPath = text.hasPrefix("/")
        if isPath { text = text.dropFirst() }
        // A scoped name begins with `@` and has two parts.
        let isScoped = text.hasPrefix("@")
        let parts = text.parts(at: "/")
        let length = isScoped ? 2 : 1
        if isPath, parts.count > length {
            let version = parts[length].halves(atFirst: "_")?.before ?? parts[length]
            return (parts[..<length].joined(separator: "/"), String(version))
        }
        let mark = isScoped ? "@" : ""
        guard let (name, version) = text.dropFirst(mark.count).halves(atFirst: "@") else {
            return (String(text), "")
        }
        return (mark + name, String(version))
    }
}
