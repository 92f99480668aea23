extension ListKind {
    /// APKINDEX of an Alpine repository: a paragraph for each package, with keys of one letter.
    ///
    /// The digest in `C:` covers only a part of the file, so it pins nothing.
    static var alpine: ListKind {
        ListKind("an APKINDEX", "plain text", .text(read), .line { $0.text.hasPrefix("C:Q1") })
    }

    private static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        text.forEachParagraph(with: ["P", "V", "S"]) { fields, _ in
            guard let name = fields["P"] else { return }
            guard let version = fields["V"] else {
                return collector.leaveOut(name, "it has no version")
            }
            var entry = ListEntry(named: name.with("\(name.value)-\(version.value).apk"))
            entry.size = fields["S"]
            entry.tags = [name.value]
            collector.add(entry)
            collector.note(
                "without a digest: APKINDEX hashes a part of each file", "file", at: name.place)
        }
    }
}
