extension ListKind {
    /// pip's requirements.txt: requirements that have a URL or a hash.
    ///
    /// The files of a requirement without a URL come from a package index, where its hashes select
    /// them.
    static var requirements: ListKind {
        ListKind(
            "requirements.txt", "plain text", .text(read),
            .line { $0.words.contains { $0.hasPrefix("--hash=") } }, .grammar(flawOfStart))
    }

    /// The commands that find the files of requirements and write their URLs into a lock file.
    private static let lockCommands =
        "`pip lock -r requirements.txt` (pip 25.1 or later) or"
        + " `uv pip compile requirements.txt --format pylock.toml -o pylock.toml`"
        + " writes pylock.toml"

    /// Returns why a line is neither a requirement nor an option. Returns nil if it is one.
    ///
    /// The bullets of a text, and the armour of a signature, also begin with `-`.
    private static func flawOfStart(_ line: ListLine) -> String? {
        let text = line.trimmed
        let isOption = text.hasPrefix("-") && !text.hasPrefix("- ") && !text.hasPrefix("---")
        return text.hasPrefix("-") && !isOption ? "is no requirement and no option" : flaw(line)
    }

    private static func flaw(_ line: ListLine) -> String? {
        let text = line.trimmed
        if text.hasPrefix("-") || text.isURL { return nil }
        let name = text.utf8.prefix { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-_.".utf8.contains(byte)
        }
        let rest = text[name.endIndex...].drop { $0 == " " }
        let marks = ["==", ">=", "<=", "~=", "!=", "<", ">", "[", ";", "@", "\\", "--hash="]
        return !name.isEmpty && marks.contains(where: rest.hasPrefix)
            ? nil : "is no requirement such as name==1.0 or name @ https://…"
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        let lines = logicalLines(of: text)
        let index = collector.hint.index ?? ownIndex(in: lines)
        var withoutIndex: [TextPosition] = []
        for line in lines {
            guard let first = line.first else { continue }
            if first.value.hasPrefix("-") {
                take(option: first, line.dropFirst().first, collector)
            } else if let url = url(in: line) {
                add(url, line, to: collector)
            } else if hashes(in: line).isEmpty {
                collector.leaveOut(
                    first, "no URL and no hash; \(lockCommands), which has both")
            } else if let index {
                find(first, line, at: index, collector)
            } else {
                withoutIndex.append(first.place)
            }
        }
        guard let first = withoutIndex.first else { return }
        let count = withoutIndex.count
        collector.log.error(
            at: first,
            "\(Counted(count, "requirement")) from here on \(Counted.verb(count, "has", "have")) no URL:"
                + " only a package index knows \(Counted.verb(count, "its", "their")) files, where the"
                + " hashes find them; or lock them, and take the lock file, which has the URLs:"
                + " \(lockCommands)", remedy: Remedy(.nameIndex))
    }

    /// The option by which pip itself names an index.
    private static let ownIndexOption = "--index-url"

    /// The index that the list itself names: `--index-url URL`, `--index-url=URL` or `-i URL`.
    ///
    /// Returns nil if the list names no index.
    private static func ownIndex(in lines: [[ListWord]]) -> SourceURL? {
        for line in lines {
            guard let first = line.first?.value else { continue }
            var value: String?
            if ["-i", ownIndexOption].contains(first) {
                value = line.dropFirst().first?.value
            } else if first.hasPrefix(ownIndexOption + "=") {
                value = String(first.dropFirst(12))
            }
            if let index = value.flatMap(ListHint.index) { return index }
        }
        return nil
    }

    /// Adds a project whose files a package index finds by the hashes of a requirement.
    private static func find(
        _ first: ListWord, _ line: [ListWord], at index: SourceURL, _ collector: ListCollector
    ) {
        let name = first.value.prefix { $0.isLetter || $0.isNumber || "-_.".contains($0) }
        var digests: [Digest] = []
        for hash in hashes(in: line) {
            guard let (algorithm, hex) = hash.value.halves(atFirst: ":"),
                let known = DigestAlgorithm(rawValue: algorithm.lowercased()),
                let digest = try? Digest(known, declared: String(hex))
            else {
                return collector.leaveOut(
                    first, "\(Quoted(hash.value, limit: 40)) is no hash such as sha256:…")
            }
            digests.append(digest)
        }
        collector.addProject(first.with(name), digests, at: index)
    }

    private static func hashes(in words: [ListWord]) -> [ListWord] {
        var hashes: [ListWord] = []
        for (position, word) in words.enumerated() {
            if word.value.hasPrefix("--hash=") {
                hashes.append(word.with(word.value.dropFirst(7)))
            } else if word.value == "--hash", position + 1 < words.count {
                hashes.append(words[position + 1])
            }
        }
        return hashes
    }

    /// Returns the words of each requirement. A backslash continues a requirement on the next line.
    private static func logicalLines(of text: ListText) -> [[ListWord]] {
        var lines: [[ListWord]] = []
        var isContinued = false
        for line in text {
            var words = line.words(line.words)
            if let comment = words.firstIndex(where: { $0.value.hasPrefix("#") }) {
                words.removeSubrange(comment...)
            }
            let goesOn = words.last?.value.utf8.last == UInt8(ascii: "\\")
            if goesOn, let last = words.popLast(), last.value.utf8.count > 1 {
                words.append(last.with(last.value.dropLast()))
            }
            if isContinued, let last = lines.indices.last {
                lines[last] += words
            } else {
                lines.append(words)
            }
            isContinued = goesOn
        }
        return lines
    }

    /// Handles an option of pip: some options name further files, the others concern only pip.
    private static func take(
        option: ListWord, _ value: ListWord?, _ collector: ListCollector
    ) {
        let (name, own) = option.value.halves(atFirst: "=") ?? (option.value[...], "")
        let rest = value.map { " " + $0.value } ?? (own.isEmpty ? "" : " " + own)
        let entry = option.with(name + rest)
        switch name {
        case "-r", "--requirement":
            collector.leaveOut(entry, "another list; sync it beside this one")
        case "-e", "--editable":
            let folder = value?.value ?? String(own)
            if !folder.isProjectFolder {
                collector.leaveOut(entry, "a folder or a repository, not a file")
            }
        default:
            collector.note(
                "left out: pip's own, such as \(Quoted(name, limit: 40))", "option",
                at: option.place)
        }
    }

    /// Returns the URL in `URL`, `name @ URL` or `name@URL`. Returns nil if there is no URL.
    private static func url(in words: [ListWord]) -> ListWord? {
        guard let first = words.first else { return nil }
        if first.value.isURL { return first }
        if let at = words.firstIndex(where: { $0.value == "@" }), at + 1 < words.count, at <= 2 {
            return words[at + 1].value.isURL ? words[at + 1] : nil
        }
        guard let (_, url) = first.value.halves(atFirst: "@"), url.isURL else {
            return nil
        }
        return first.with(url)
    }

    private static func add(_ url: ListWord, _ words: [ListWord], to collector: ListCollector) {
        var entry = ListEntry(at: url.place)
        let (address, fragment) = url.value.halves(atFirst: "#") ?? (url.value[...], "")
        entry.url = url.with(address)
        guard !address.hasPrefix("git+"), collector.speaks(url) else {
            if address.hasPrefix("git+") {
                collector.leaveOut(words.first ?? url, "a repository, not a file")
            }
            return
        }
        entry.folder = "python"
        for hash in hashes(in: words) where !entry.addDigest(hash, at: ":") {
            return collector.leaveOut(
                url, "\(Quoted(hash.value, limit: 40)) is no hash such as sha256:…")
        }
        for part in fragment.parts(at: "&") {
            _ = entry.addDigest(url.with(part), at: "=")
        }
        collector.add(entry)
    }
}
