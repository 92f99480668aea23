internal import MirrorModel

/// What a package index has of a project: a page of HTML (PEP 503) or JSON (PEP 691).
///
/// Of its files those are taken whose digests the list names.
struct IndexedFiles {
    /// A file of the project.
    private struct File {
        var name: String
        var url: String
        var digests: [Digest]
        var size: String?
    }

    private var files: [File] = []
    /// How the names of packages end.
    private let kinds = [".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz", ".egg"]

    /// Reads a page of HTML.
    init(_ page: HTMLPage) {
        for link in page.links {
            let (url, fragment) = link.reference.halves(atFirst: "#") ?? (link.reference[...], "")
            let name = (url.halves(atFirst: "?")?.before ?? url).parts(at: "/").last ?? ""
            // Other pages link here and there.
            guard !fragment.isEmpty || kinds.contains(where: name.hasSuffix) else { continue }
            let digests = fragment.parts(at: "&").compactMap { part -> Digest? in
                guard let (name, hex) = part.halves(atFirst: "=") else { return nil }
                return IndexedFiles.digest(String(name), String(hex))
            }
            files.append(File(name: link.text.trimmed, url: String(url), digests: digests))
        }
    }

    /// Reads a page of JSON; nil if it is none.
    init?(_ tree: JSONTree) {
        guard let found = tree["files"]?.elements else { return nil }
        for file in found {
            guard let url = file["url"]?.string else { continue }
            let digests = (file["hashes"]?.members ?? []).compactMap {
                IndexedFiles.digest($0.key, $0.value.string ?? "")
            }
            files.append(
                File(
                    name: file["filename"]?.string ?? "", url: url, digests: digests,
                    size: file["size"]?.number?.value))
        }
    }

    private static func digest(_ name: String, _ hex: String) -> Digest? {
        DigestAlgorithm(rawValue: name.lowercased()).flatMap { try? Digest($0, declared: hex) }
    }

    /// Takes the files that a list names; an error names each digest that none of them has.
    func take(_ project: IndexedProject, into collector: ListCollector) {
        guard !files.isEmpty else {
            collector.log.error(at: TextPosition(), "it names no file")
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
                collector.log.error(
                    at: place,
                    "\(Escaped(project.name, limit: 80)): \(project.url) has no file with"
                        + " \(digest.algorithm.rawValue) \(digest.hex)\(hint); lock it again, or remove that hash"
                )
                continue
            }
            guard taken.insert(position).inserted else { continue }
            let file = files[position]
            var entry = ListEntry(at: place)
            entry.url = ListWord(value: file.url, place: place)
            entry.folder = "python"
            entry.size = file.size.map { ListWord(value: $0, place: place) }
            entry.digests = [(digest.algorithm, ListWord(value: digest.hex, place: place))]
            entry.tags = [project.name, IndexedFiles.isWheel(file.url) ? "wheel" : "sdist"]
            collector.add(entry)
        }
    }

    private static func isWheel(_ url: String) -> Bool {
        (url.halves(atFirst: "?")?.before ?? url[...]).hasSuffix(".whl")
    }
}
