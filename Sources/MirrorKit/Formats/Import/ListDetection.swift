/// Finds the format of a list by the evidence that each format names.
///
/// Formats are tried in the order of `ListFormat`, those with a narrow grammar before those with a
/// wide one.
extension ListReader {
    /// The most lines that are checked; blank lines do not count.
    private static let mostLines = 64

    private static var kinds: [(format: ListFormat, evidence: [ListKind.Evidence])] {
        ListFormat.allCases.map { ($0, $0.kind.evidence) }
    }

    /// Returns the format of a text of lines. Throws if mirror does not read this text.
    func detectedFormat(of text: ListText) throws(DecodingStop) -> ListFormat {
        let kinds = ListReader.kinds
        let format = { (isShown: (ListKind.Evidence) -> Bool) in
            kinds.first { $0.evidence.contains(where: isShown) }?.format
        }
        let first = Array(text.lazy.filter { !$0.isBlank }.prefix(ListReader.mostLines))
        let byMark = format { mark in
            if case .line(let isMark) = mark { first.contains(where: isMark) } else { false }
        }
        if let byMark { return byMark }
        if let foreign = ForeignList.shown(by: first) { throw refuse(foreign) }
        let lines = first.filter { !$0.isComment }
        let byLines = format {
            if case .lines(let areShown) = $0 { areShown(lines) } else { false }
        }
        if let byLines { return byLines }
        // The format whose grammar most lines fit, and the first line that does not fit.
        var nearest: (format: ListFormat, line: ListLine, reason: String)?
        var mostFitting = lines.count / 2
        for (format, evidence) in kinds where !lines.isEmpty {
            for case .grammar(let flaw) in evidence {
                let flaws = lines.map(flaw)
                guard let at = flaws.firstIndex(where: { $0 != nil }), let reason = flaws[at] else {
                    return format
                }
                let fitting = flaws.count { $0 == nil }
                guard fitting > mostFitting else { continue }
                (nearest, mostFitting) = ((format, lines[at], reason), fitting)
            }
        }
        let fields = first.fieldsOfFirstParagraph
        let byFields = format {
            if case .fields(let areShown) = $0 { areShown(fields) } else { false }
        }
        if let byFields { return byFields }
        let names = ListFormat.allCases.map(\.rawValue).joined(separator: ", ")
        let end = nearest.map { format, line, reason in
            "; the nearest is \(format.rawValue): \(Quoted(line.trimmed, limit: 40)) \(reason)"
        }
        builder.log.error(
            at: nearest?.line.place ?? TextPosition(),
            "this is no manifest and none of the lists that mirror reads (\(names))\(end ?? "")",
            remedy: nearest.map { Remedy(.nameFormat, $0.format.rawValue) }
                ?? (builder.check.origin.isRemote ? Remedy(.get) : nil))
        throw .refused
    }

    /// Whether a text is TOML, as lock files are: its first lines open tables or set keys.
    static func isTOML(_ text: ListText) -> Bool {
        let lines = text.telling.prefix(3)
        return lines.contains { $0.text.hasPrefix("[") || $0.text.contains(" = ") }
            && lines.allSatisfy(mayBeTOML)
    }

    /// Whether a line may be in a TOML lock file: it opens a table or sets a key.
    private static func mayBeTOML(_ line: ListLine) -> Bool {
        let text = line.trimmed
        let begins = [
            "[[package]]", "[[packages]]", "[package]", "[metadata]", "[options]", "[manifest]",
            "[project]", "[build-system]",
        ]
        if begins.contains(where: text.hasPrefix) { return true }
        guard let (key, value) = text.halves(atFirst: "="), !key.isEmpty else { return false }
        let isKey = key.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-_. \t\"'".utf8.contains(byte)
        }
        return isKey && value.utf8.first != UInt8(ascii: "=")
    }

    /// The kind of document that the top-level keys of a text in JSON show.
    enum Finding {
        case manifest
        case list(ListFormat)
        /// The keys of a list that mirror does not read.
        case foreign(ForeignList)
        /// An array. Its elements, not keys, identify the format.
        case array
    }

    /// Finds the first key that identifies a format.
    ///
    /// Errors are ignored here; the reader of the text reports them.
    static func finding(inJSON bytes: ManifestBytes) throws(DecodingStop) -> Finding {
        var keys: [String: ListFormat] = [:]
        for (format, evidence) in kinds {
            for case .json(let own, _) in evidence {
                for key in own { keys[key] = format }
            }
        }
        var tokens = try JSONTokenizer(
            bytes, log: DiagnosticLog(file: ""), longestText: ListReader.greatestSize)
        do throws(DecodingStop) {
            switch try tokens.next() {
            case .beginArray: return .array
            case .beginObject: break
            default: return .manifest
            }
            var seen: Set<String> = []
            while case .key = try tokens.next() {
                let key = tokens.string
                seen.insert(key)
                if key == TopKey.resources.rawValue { return .manifest }
                if let format = keys[key] { return .list(format) }
                try tokens.skip(try tokens.next())
            }
            if let foreign = ForeignList.shown(by: seen) { return .foreign(foreign) }
        } catch .unreadable(let error) { throw .unreadable(error) } catch .refused {}
        return .manifest
    }

    /// Returns the format of an array in JSON, by the first element that identifies a format.
    ///
    /// Returns nil if no element does.
    static func format(ofArray array: JSONTree) -> ListFormat? {
        let kinds = kinds
        for element in array.elements {
            let found = kinds.first { kind in
                kind.evidence.contains {
                    if case .json(_, let isElement) = $0 { isElement(element) } else { false }
                }
            }
            if let found { return found.format }
        }
        return nil
    }

    /// Returns the list format of a root element in XML.
    ///
    /// Returns nil if mirror reads no such list.
    static func format(ofRoot root: XMLElement) -> ListFormat? {
        kinds.first { kind in
            kind.evidence.contains {
                guard case .root(let name, let namespace) = $0 else { return false }
                return root.name == name && (namespace == nil || root.namespace == namespace)
            }
        }?.format
    }
}
