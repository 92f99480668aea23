extension ListKind {
    /// The tree of a repository as Hugging Face's API describes it.
    ///
    /// The digest of a large file is its sha256. The digest of a small file is git's, which is not
    /// a digest of the file's bytes.
    static var huggingFace: ListKind {
        ListKind(
            "a Hugging Face tree", "JSON", .tree(read),
            .json(keys: []) { element in
                element["path"] != nil && (element["oid"] != nil || element["size"] != nil)
                    && ["file", "directory"].contains(element["type"]?.string)
            },
            base: { url in
                // `/api/models/A/B/tree/REV` lists what `/A/B/resolve/REV/` serves.
                let parts = url.path.split(separator: "/")
                guard parts.count >= 6, parts[0] == "api", parts[4] == "tree" else { return nil }
                let kind = parts[1] == "models" ? [] : [parts[1]]
                let folders = kind + [parts[2], parts[3], "resolve", parts[5]]
                return url.beside("/" + folders.joined(separator: "/") + "/")
            })
    }

    /// The most files that one answer of the API has.
    private static let mostEntries = 1000

    private static func read(_ tree: JSONTree, into collector: ListCollector) {
        leaveOutFolders(of: tree, collector)
        for element in tree.elements where element["type"]?.string == "file" {
            guard let path = element["path"]?.word else {
                collector.leaveOut("", "the file has no path", at: element.place)
                continue
            }
            var entry = ListEntry(named: path)
            let lfs = element["lfs"]
            entry.size = (lfs?["size"] ?? element["size"])?.number
            if let digest = lfs?["oid"]?.word ?? lfs?["sha256"]?.word {
                entry.digests = [(.sha256, withoutAlgorithm(digest))]
            }
            collector.add(entry)
        }
        // A remote list needs no note, because the server names the next page.
        if tree.elements.count == mostEntries, !collector.builder.check.origin.isRemote {
            collector.note(
                "\(mostEntries) entries are the most that one answer has; there may be more", "",
                at: tree.place)
        }
    }

    /// Leaves out each folder whose files are not listed, as in an answer that is not recursive.
    private static func leaveOutFolders(of tree: JSONTree, _ collector: ListCollector) {
        if case .url(let url) = collector.builder.check.origin,
            url.query?.parts(at: "&").contains(where: {
                ["recursive=true", "recursive=1"].contains($0.lowercased())
            }) == true
        {
            return
        }
        var known: Set<String> = []
        for element in tree.elements where element["type"]?.string == "file" {
            var folder = PathText.folder(of: element["path"]?.string ?? "")
            while !folder.isEmpty, known.insert(folder).inserted {
                folder = PathText.folder(of: folder)
            }
        }
        for element in tree.elements where element["type"]?.string == "directory" {
            guard let path = element["path"]?.word, !known.contains(path.value) else { continue }
            collector.leaveOut(path, "a folder, whose files are listed with ?recursive=true only")
        }
    }

    private static func withoutAlgorithm(_ digest: ListWord) -> ListWord {
        guard let (name, hex) = digest.value.halves(atFirst: ":"), name == "sha256" else {
            return digest
        }
        return digest.with(hex)
    }
}
