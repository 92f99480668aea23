internal import MirrorModel

/// Gemfile.lock: the gems of its GEM sections, and their digests in CHECKSUMS.
enum GemfileList {
    static var kind: ListKind {
        ListKind(
            "Gemfile.lock", "plain text", .text(read),
            .line { ["GEM", "GIT", "PATH"].contains($0.text) })
    }

    /// A gem: `NAME (VERSION)` or `NAME (VERSION-PLATFORM)`.
    private struct Gem {
        let name: String
        let version: String
        let place: TextPosition
        var remotes: [String] = []
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var section = ""
        var remotes: [String] = []
        var gems: [Gem] = []
        var digests: [String: [ListWord]] = [:]
        for line in text where !line.isBlank {
            if !line.isIndented {
                (section, remotes) = (String(line.text), [])
            } else if section == "CHECKSUMS" {
                let parts = line.words(line.words)
                if let gem = gem(in: line), parts.count > 2 {
                    digests[gem.name + "-" + gem.version] = Array(parts.dropFirst(2))
                }
            } else if line.text.hasPrefix("  remote: ") {
                let remote = line.trimmed.dropFirst(8)
                remotes.append(remote.hasSuffix("/") ? String(remote) : remote + "/")
            } else if line.text.hasPrefix("    "), !line.text.hasPrefix("     "),
                var gem = gem(in: line)
            {
                gem.remotes = remotes
                if section == "GEM" {
                    gems.append(gem)
                } else {
                    let isFolder = section == "GIT" || section == "PATH"
                    collector.leaveOut(
                        "\(gem.name) \(gem.version)",
                        isFolder
                            ? "it is a folder or a repository, not a file"
                            : "its section \(Quoted(section, limit: 40)) is no source of gems",
                        at: line.place)
                }
            }
        }
        for gem in gems { add(gem, digests, to: collector) }
    }

    private static func gem(in line: ListLine) -> Gem? {
        let words = line.words
        guard words.count > 1, words[1].hasPrefix("("), words[1].hasSuffix(")") else { return nil }
        return Gem(
            name: String(words[0]), version: String(words[1].dropFirst().dropLast()),
            place: line.place)
    }

    private static func add(
        _ gem: Gem, _ digests: [String: [ListWord]], to collector: ListCollector
    ) {
        let file = "\(gem.name)-\(gem.version).gem"
        let path = SourceURL.reference(toName: "gems/" + file).dropFirst(2)
        let urls = gem.remotes.map { ListWord(value: $0 + path, place: gem.place) }
        guard let url = urls.first else {
            return collector.leaveOut(file, "its section has no remote", at: gem.place)
        }
        var entry = ListEntry(at: gem.place)
        entry.url = url
        entry.path = ListWord(value: "gems/" + file, place: gem.place)
        for word in digests[gem.name + "-" + gem.version] ?? [] {
            for digest in word.value.parts(at: ",") {
                _ = entry.addDigest(ListWord(value: String(digest), place: word.place), at: "=")
            }
        }
        // Servers may have other gems of the same name; a digest tells them apart.
        if !entry.digests.isEmpty { entry.mirrors = Array(urls.dropFirst()) }
        entry.tags = [gem.name]
        collector.add(entry)
    }
}
