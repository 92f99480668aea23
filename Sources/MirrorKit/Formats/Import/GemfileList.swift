extension ListKind {
    /// Gemfile.lock: the gems of its GEM sections, and their digests in CHECKSUMS.
    static var gemfile: ListKind {
        ListKind(
            "Gemfile.lock", "plain text", .text(read),
            .line { ["GEM", "GIT", "PATH"].contains($0.text) })
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var section = ""
        var remotes: [String] = []
        var gems: [(id: String, entry: ListEntry)] = []
        var digests: [String: [ListWord]] = [:]
        for line in text where !line.isBlank {
            if !line.isIndented {
                (section, remotes) = (String(line.text), [])
            } else if section == "CHECKSUMS" {
                let parts = line.words(line.words)
                if let (name, version) = gem(in: line), parts.count > 2 {
                    digests["\(name)-\(version)"] = Array(parts.dropFirst(2))
                }
            } else if line.text.hasPrefix("  remote: ") {
                let remote = line.trimmed.dropFirst(8)
                remotes.append(remote.hasSuffix("/") ? String(remote) : remote + "/")
            } else if line.text.hasPrefix("    "), !line.text.hasPrefix("     "),
                let (name, version) = gem(in: line)
            {
                if section == "GEM" {
                    gems.append(
                        ("\(name)-\(version)", entry(name, version, remotes, at: line.place)))
                } else if section != "PATH" || remotes.map(\.isProjectFolder) != [true] {
                    let isFolder = section == "GIT" || section == "PATH"
                    collector.leaveOut(
                        "\(name) \(version)",
                        isFolder
                            ? "it is a folder or a repository, not a file"
                            : "its section \(Quoted(section, limit: 40)) is no source of gems",
                        at: line.place)
                }
            }
        }
        for (id, var entry) in gems {
            guard entry.url != nil else {
                collector.leaveOut("\(id).gem", "its section has no remote", at: entry.place)
                continue
            }
            for word in digests[id] ?? [] {
                for digest in word.value.parts(at: ",") {
                    _ = entry.addDigest(word.with(digest), at: "=")
                }
            }
            // Without a digest, another server's gem of this name may be a different file.
            if entry.digests.isEmpty { entry.mirrors = [] }
            collector.add(entry)
        }
    }

    /// Reads a gem: `NAME (VERSION)` or `NAME (VERSION-PLATFORM)`. Returns nil for other lines.
    private static func gem(in line: ListLine) -> (name: Substring, version: Substring)? {
        let words = line.words
        guard words.count > 1, words[1].hasPrefix("("), words[1].hasSuffix(")") else { return nil }
        return (words[0], words[1].dropFirst().dropLast())
    }

    private static func entry(
        _ name: Substring, _ version: Substring, _ remotes: [String], at place: TextPosition
    ) -> ListEntry {
        let path = ListWord(value: "gems/\(name)-\(version).gem", place: place)
        let reference = SourceURL.reference(toName: path.value).dropFirst(2)
        var entry = ListEntry(named: path)
        entry.setSources(remotes.map { path.with($0 + reference) })
        entry.tags = [String(name)]
        return entry
    }
}
