internal import MirrorModel

/// pip's requirements.txt: requirements that have a URL, with their `--hash`.
///
/// Only a package index knows the files of a requirement without a URL, and mirror asks none.
enum RequirementsList {
    /// The commands that find the files of requirements, and write down where they are.
    private static let lockCommands =
        "`pip lock -r requirements.txt` (pip 25.1 or later) or"
        + " `uv pip compile requirements.txt --format pylock.toml -o pylock.toml`"
        + " writes pylock.toml"

    static func flaw(_ line: ListLine) -> String? {
        let text = line.trimmed
        if text.hasPrefix("-") || URLList.isURL(text) { return nil }
        let name = text.utf8.prefix { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-_.".utf8.contains(byte)
        }
        let rest = text[name.endIndex...].drop { $0 == " " }
        let marks = ["==", ">=", "<=", "~=", "!=", "<", ">", "[", ";", "@", "\\", "--hash="]
        return !name.isEmpty && marks.contains(where: rest.hasPrefix)
            ? nil : "is no requirement such as name==1.0 or name @ https://…"
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var withoutURL: [TextPosition] = []
        for line in logicalLines(of: text) {
            guard let first = line.first else { continue }
            if first.value.hasPrefix("-") {
                noteOption(first, collector)
            } else if let url = url(in: line) {
                add(url, line, to: collector)
            } else {
                withoutURL.append(first.place)
            }
        }
        guard let first = withoutURL.first else { return }
        let count = withoutURL.count
        collector.log.error(
            at: first,
            "\(Counted(count, "requirement")) from here on \(Counted.verb(count, "has", "have")) no URL:"
                + " only a package index knows \(Counted.verb(count, "its", "their")) files, and mirror"
                + " asks none. Lock them, and take the lock file, which has the URLs:"
                + " \(lockCommands)")
    }

    /// The words of each requirement, whose lines may be continued with a backslash.
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
                words.append(ListWord(value: String(last.value.dropLast()), place: last.place))
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

    private static func noteOption(_ option: ListWord, _ collector: ListCollector) {
        let name = option.value.prefix { $0 != "=" }
        collector.note(
            "left out: pip's own, such as \(Quoted(name, limit: 40))", "option", at: option.place)
    }

    /// `URL`, `name @ URL` or `name@URL`.
    private static func url(in words: [ListWord]) -> ListWord? {
        guard let first = words.first else { return nil }
        if URLList.isURL(first.value) { return first }
        if let at = words.firstIndex(where: { $0.value == "@" }), at + 1 < words.count, at <= 2 {
            return URLList.isURL(words[at + 1].value) ? words[at + 1] : nil
        }
        guard let (_, url) = first.value.halves(atFirst: "@"), URLList.isURL(url) else {
            return nil
        }
        return ListWord(value: String(url), place: first.place)
    }

    private static func add(_ url: ListWord, _ words: [ListWord], to collector: ListCollector) {
        var entry = ListEntry(at: url.place)
        let (address, fragment) = url.value.halves(atFirst: "#") ?? (url.value[...], "")
        entry.url = ListWord(value: String(address), place: url.place)
        guard !address.hasPrefix("git+"), collector.speaks(url) else {
            if address.hasPrefix("git+") {
                collector.note("left out: a repository, not a file", "requirement", at: url.place)
            }
            return
        }
        entry.path = collector.lastSegment(of: url)
        if let path = entry.path { entry.path?.value = "python/" + path.value }
        let hashes = words.filter { $0.value.hasPrefix("--hash=") }
            .map { ListWord(value: String($0.value.dropFirst(7)), place: $0.place) }
        for hash in hashes where !entry.addDigest(hash, at: ":") {
            collector.log.error(
                at: hash.place,
                "--hash \(Quoted(hash.value, limit: 40)): write sha256: and the digits")
        }
        for part in fragment.parts(at: "&") {
            _ = entry.addDigest(ListWord(value: String(part), place: url.place), at: "=")
        }
        collector.add(entry)
    }
}
