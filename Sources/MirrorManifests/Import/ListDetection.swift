internal import MirrorModel

/// Finds the format of a text by its first lines.
///
/// A text is of a format only by evidence: a line that only this format has, or a grammar that all of
/// the lines fit. Formats with a narrow grammar are asked before those with a wide one.
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

    /// Lines that only one format has.
    private static var marks: [(format: ListFormat, isMark: (ListLine) -> Bool)] {
        [
            (.yarn, { $0.text.hasPrefix("# yarn lockfile v1") }),
            (.pnpm, { $0.text.hasPrefix("lockfileVersion:") }),
            (.conda, { $0.trimmed == "@EXPLICIT" }),
            (.requirements, { $0.words.contains { $0.hasPrefix("--hash=") } }),
            (.alpine, { $0.text.hasPrefix("C:Q1") }), (.pacman, { $0.text == "%FILENAME%" }),
            (.gemfile, { ["GEM", "GIT", "PATH"].contains($0.text) }),
        ]
    }

    /// Why a line cannot belong to a format; nil if it can.
    private static var grammars: [(format: ListFormat, flaw: (ListLine) -> String?)] {
        [
            (.urls, URLList.flaw), (.aria2, AriaList.flaw), (.bagit, BagList.flaw),
            (.sums, SumsList.flaw), (.bagitFetch, BagFetchList.flaw), (.pooch, PoochList.flaw),
            (.goSum, GoSumList.flaw), (.requirements, flawOfRequirement),
        ]
    }

    static func format(of text: ListText) -> Finding {
        let first = Array(text.lazy.filter { !$0.isBlank }.prefix(mostLines))
        if let (format, _) = marks.first(where: { first.contains(where: $0.isMark) }) {
            return .found(format)
        }
        if let foreign = ForeignList.shown(by: first) { return .foreign(foreign) }
        let lines = first.filter { !$0.isComment }
        if SumsList.isDigestAlone(lines) { return .found(.sums) }
        var misfits: [Misfit] = []
        for (format, flaw) in grammars where !lines.isEmpty {
            guard let misfit = misfit(of: lines, format, flaw) else { return .found(format) }
            misfits.append(misfit)
        }
        let fields = DebianField.names(inFirstParagraphOf: first)
        if fields.isSuperset(of: PackagesList.keys) { return .found(.debianPackages) }
        if !fields.isDisjoint(with: ReleaseList.keys), !fields.isDisjoint(with: ReleaseList.sums) {
            return .found(.debianRelease)
        }
        let nearest = misfits.max { $0.accepted < $1.accepted }
        return .unknown(nearest: nearest.flatMap { $0.accepted * 2 > lines.count ? $0 : nil })
    }

    /// Whether a text is TOML, as lock files are: its first lines open tables or set keys.
    static func isTOML(_ text: ListText) -> Bool {
        let lines = text.telling.prefix(3)
        return lines.contains { $0.text.hasPrefix("[") || $0.text.contains(" = ") }
            && lines.allSatisfy { TOMLLists.flaw($0) == nil }
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

    /// The bullets of a text, and the armour of a signature, begin as pip's options do.
    private static func flawOfRequirement(_ line: ListLine) -> String? {
        let text = line.trimmed
        let isOption = text.hasPrefix("-") && !text.hasPrefix("- ") && !text.hasPrefix("---")
        return text.hasPrefix("-") && !isOption
            ? "is no requirement and no option" : RequirementsList.flaw(line)
    }
}
