internal import MirrorModel

/// Finds the format of a list by the evidence that each format names.
///
/// Formats are asked in the order of `ListFormat`, those with a narrow grammar before those with a
/// wide one.
enum ListDetection {
    /// How many lines are checked; blank lines do not count.
    private static let mostLines = 64

    /// Why a text is not of a format, though most of its first lines are.
    struct Misfit {
        let format: ListFormat
        /// How many of the lines the format accepts.
        let accepted: Int
        let place: TextPosition
        let reason: String
    }

    /// The result of the detection.
    enum Finding {
        case found(ListFormat)
        /// A list that mirror does not read.
        case foreign(ForeignList)
        /// No format fits; the misfit is that of a format that accepts most of the lines.
        case unknown(nearest: Misfit?)
    }

    private static var kinds: [(format: ListFormat, evidence: [ListKind.Evidence])] {
        ListFormat.allCases.map { ($0, $0.kind.evidence) }
    }

    static func format(of text: ListText) -> Finding {
        let kinds = kinds
        let format = { (isShown: (ListKind.Evidence) -> Bool) in
            kinds.first { $0.evidence.contains(where: isShown) }?.format
        }
        let first = Array(text.lazy.filter { !$0.isBlank }.prefix(mostLines))
        let byMark = format { mark in
            if case .line(let isMark) = mark { first.contains(where: isMark) } else { false }
        }
        if let byMark { return .found(byMark) }
        if let foreign = ForeignList.shown(by: first) { return .foreign(foreign) }
        let lines = first.filter { !$0.isComment }
        let byLines = format {
            if case .lines(let areShown) = $0 { areShown(lines) } else { false }
        }
        if let byLines { return .found(byLines) }
        var misfits: [Misfit] = []
        for (format, evidence) in kinds where !lines.isEmpty {
            for case .grammar(let flaw) in evidence {
                guard let misfit = misfit(of: lines, format, flaw) else { return .found(format) }
                misfits.append(misfit)
            }
        }
        let fields = DebianField.names(inFirstParagraphOf: first)
        let byFields = format {
            if case .fields(let areShown) = $0 { areShown(fields) } else { false }
        }
        if let byFields { return .found(byFields) }
        let nearest = misfits.max { $0.accepted < $1.accepted }
        return .unknown(nearest: nearest.flatMap { $0.accepted * 2 > lines.count ? $0 : nil })
    }

    /// Whether a text is TOML, as lock files are: its first lines open tables or set keys.
    static func isTOML(_ text: ListText) -> Bool {
        let lines = text.telling.prefix(3)
        return lines.contains { $0.text.hasPrefix("[") || $0.text.contains(" = ") }
            && lines.allSatisfy { flawOfTOML($0) == nil }
    }

    /// Why a line cannot be in a TOML lock file; nil if it can.
    private static func flawOfTOML(_ line: ListLine) -> String? {
        let text = line.trimmed
        let begins = [
            "[[package]]", "[[packages]]", "[package]", "[metadata]", "[options]", "[manifest]",
            "[project]", "[build-system]",
        ]
        if begins.contains(where: text.hasPrefix) { return nil }
        guard let (key, value) = text.halves(atFirst: "="), !key.isEmpty else {
            return "neither opens a table such as [[package]] nor sets a key"
        }
        let isKey = key.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "-_. \t\"'".utf8.contains(byte)
        }
        return isKey && value.utf8.first != UInt8(ascii: "=") ? nil : "sets no key"
    }

    /// What the top-level keys of a text show.
    enum JSONFinding {
        case manifest
        case list(ListFormat)
        /// A list that mirror does not read.
        case foreign(ForeignList)
        /// An array, whose elements identify the format.
        case array
    }

    /// Looks for the first key that identifies a format. Errors are ignored: the reader of the text
    /// reports them.
    static func finding(
        inJSON bytes: ManifestBytes
    ) throws(DecodingStop) -> JSONFinding {
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

    /// The format of an array in JSON, by the first element that identifies one.
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

    /// The format of a root element in XML; nil if it is none that mirror reads.
    static func format(ofRoot root: XMLElement) -> ListFormat? {
        kinds.first { kind in
            kind.evidence.contains {
                guard case .root(let name, let namespace) = $0 else { return false }
                return root.name == name && (namespace == nil || root.namespace == namespace)
            }
        }?.format
    }

    private static func misfit(
        of lines: [ListLine], _ format: ListFormat, _ flaw: (ListLine) -> String?
    ) -> Misfit? {
        let flaws = lines.map(flaw)
        guard let first = flaws.firstIndex(where: { $0 != nil }), let reason = flaws[first] else {
            return nil
        }
        let line = lines[first]
        return Misfit(
            format: format, accepted: flaws.count { $0 == nil }, place: line.place,
            reason: "\(Quoted(line.trimmed, limit: 40)) \(reason)")
    }
}
