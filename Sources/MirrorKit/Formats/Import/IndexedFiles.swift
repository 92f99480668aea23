/// The page that a package index has of a project: HTML (PEP 503) or JSON (PEP 691).
///
/// The collector takes only the files whose digests the list names.
extension ListCollector {
    /// Adds the files of a project from a page of HTML.
    func addFiles(of project: IndexedProject, from page: HTMLPage) {
        // The ends of package file names.
        let kinds = [".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz", ".egg"]
        var files: [(url: String, digests: [Digest], size: String?)] = []
        for link in page.links {
            let (url, fragment) = link.reference.halves(atFirst: "#") ?? (link.reference[...], "")
            let name = (url.halves(atFirst: "?")?.before ?? url).parts(at: "/").last ?? ""
            // Pages may have links to other things than packages.
            guard !fragment.isEmpty || kinds.contains(where: name.hasSuffix) else { continue }
            let digests = fragment.parts(at: "&").compactMap { part -> Digest? in
                guard let (name, hex) = part.halves(atFirst: "=") else { return nil }
                return ListCollector.digest(String(name), String(hex))
            }
            files.append((String(url), digests, nil))
        }
        add(files, of: project)
    }

    /// Adds the files of a project from a page of JSON.
    ///
    /// Returns false if the JSON is no such page.
    func addFiles(of project: IndexedProject, from tree: JSONTree) -> Bool {
        guard let found = tree["files"]?.elements else { return false }
        var files: [(url: String, digests: [Digest], size: String?)] = []
        for file in found {
            guard let url = file["url"]?.string else { continue }
            let digests = (file["hashes"]?.members ?? []).compactMap {
                ListCollector.digest($0.key, $0.value.string ?? "")
            }
            files.append((url, digests, file["size"]?.number?.value))
        }
        add(files, of: project)
        return true
    }

    private static func digest(_ name: String, _ hex: String) -> Digest? {
        DigestAlgorithm(rawValue: name.lowercased()).flatMap { try? Digest($0, declared: hex) }
    }

    /// Adds the files that a list names. Logs an error for each digest that no file has.
    private func add(
        _ files: [(url: String, digests: [Digest], size: String?)], of project: IndexedProject
    ) {
        guard !files.isEmpty else {
            log.error(at: TextPosition(), "it names no file")
            return
        }
        let undigested = files.count { $0.digests.isEmpty }
        let hint =
            undigested == 0
            ? ""
            : " (\(Counted(undigested, "file")) there \(Counted.verb(undigested, "has", "have")) no digest)"
        var positions: [Digest: Int] = [:]
        for (position, file) in files.enumerated() {
            for digest in file.digests where positions[digest] == nil {
                positions[digest] = position
            }
        }
        let place = TextPosition(line: project.line, column: project.column)
        var taken: Set<Int> = []
        for digest in project.digests {
            guard let position = positions[digest] else {
                log.error(
                    at: place,
                    "\(Escaped(project.name, limit: 80)): \(project.url) has no file with"
                        + " \(digest.algorithm.rawValue) \(digest.hex)\(hint); lock it again, or remove that hash"
                )
                continue
            }
            guard taken.insert(position).inserted else { continue }
            let file = files[position]
            let url = ListWord(value: file.url, place: place)
            var entry = ListEntry(at: place)
            entry.url = url
            entry.folder = "python"
            entry.size = file.size.map { url.with($0) }
            entry.digests = [(digest.algorithm, url.with(digest.hex))]
            let isWheel =
                (file.url.halves(atFirst: "?")?.before ?? file.url[...]).hasSuffix(".whl")
            entry.tags = [project.name, isWheel ? "wheel" : "sdist"]
            add(entry)
        }
    }
}
