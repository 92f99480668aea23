internal import MirrorModel

/// APKINDEX of an Alpine repository: a paragraph for each package, with keys of one letter.
///
/// The digest in `C:` is of a part of the file, so nothing is pinned.
enum AlpineList {
    static var kind: ListKind {
        ListKind("an APKINDEX", "plain text", .text(read), .line { $0.text.hasPrefix("C:Q1") })
    }

    static func read(_ text: ListText, into collector: ListCollector) throws(DecodingStop) {
        var fields: [Substring: ListWord] = [:]
        for line in text {
            if line.isBlank {
                add(fields, to: collector)
                fields = [:]
            } else if let name = DebianField.name(of: line), ["P", "V", "S"].contains(name),
                fields[name] == nil
            {
                fields[name] = DebianField.value(of: line, behind: name)
            }
        }
        add(fields, to: collector)
    }

    private static func add(_ fields: [Substring: ListWord], to collector: ListCollector) {
        guard let name = fields["P"] else { return }
        guard let version = fields["V"] else {
            return collector.leaveOut(name, "it has no version")
        }
        let file = "\(name.value)-\(version.value).apk"
        var entry = ListEntry(named: ListWord(value: file, place: name.place))
        entry.size = fields["S"]
        entry.tags = [name.value]
        collector.add(entry)
        collector.note(
            "without a digest: APKINDEX hashes a part of each file", "file", at: name.place)
    }
}
