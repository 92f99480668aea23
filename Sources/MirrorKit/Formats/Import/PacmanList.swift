extension ListKind {
    /// The packages in a database of pacman: `%NAME%` on a line, and its values on the lines below.
    static var pacman: ListKind {
        ListKind("a pacman database", "plain text", .text(read), .line { $0.text == "%FILENAME%" })
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var fields: [Substring: ListWord] = [:]
        var field: Substring?
        for line in text {
            if line.isBlank {
                field = nil
            } else if field == nil, line.text.hasPrefix("%"), line.text.hasSuffix("%") {
                field = line.text
                // Each package begins with the name of its file.
                if field == "%FILENAME%" {
                    add(fields, to: collector)
                    fields = [:]
                }
            } else if let name = field, fields[name] == nil {
                fields[name] = line.word(line.trimmed)
            }
        }
        add(fields, to: collector)
    }

    private static func add(_ fields: [Substring: ListWord], to collector: ListCollector) {
        guard let file = fields["%FILENAME%"] else { return }
        var entry = ListEntry(named: file)
        entry.size = fields["%CSIZE%"]
        if let digest = fields["%SHA256SUM%"] { entry.digests = [(.sha256, digest)] }
        if entry.digests.isEmpty, let digest = fields["%MD5SUM%"] {
            entry.digests = [(.md5, digest)]
        }
        entry.tags = fields["%NAME%"].map { [$0.value] } ?? []
        collector.add(entry)
    }
}
