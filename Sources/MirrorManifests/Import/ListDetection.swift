internal import MirrorModel

/// Finds the format of a text by its first lines.
///
/// Each format tells why a line cannot belong to it. The first format that accepts all of the lines
/// is the text's format. Formats with a narrow grammar are asked before those with a wide one.
enum ListDetection {
    /// How many lines are checked; blank lines and comments do not count.
    private static let mostLines = 64

    /// Why a text is not of a format.
    struct Misfit {
        let format: ListFormat
        /// How many lines before it the format accepts.
        let depth: Int
        let place: TextPosition
        let reason: String
    }

    /// The result of the detection.
    enum Finding {
        case found(ListFormat)
        /// No format fits; the misfit is that of the format that accepts the most lines.
        case unknown(Misfit)
    }

    /// A format, and the reason why a line cannot belong to it; nil if it can.
    typealias Candidate = (format: ListFormat, flaw: (ListLine) -> String?)

    private static var candidates: [Candidate] {
        [
            (.urls, URLList.flaw), (.aria2, AriaList.flaw), (.bagit, BagList.flaw),
            (.sums, SumsList.flaw), (.bagitFetch, BagFetchList.flaw), (.pooch, PoochList.flaw),
            (.goSum, GoSumList.flaw), (.requirements, RequirementsList.flaw),
        ]
    }

    static func format(of text: ListText) -> Finding {
        let lines = Array(text.telling.prefix(mostLines))
        var nearest: Misfit?
        let misfits = candidates.lazy.map { ($0.format, misfit(of: lines, $0)) }
        let paragraphs: [(ListFormat, Misfit?)] = [
            (
                .debianPackages,
                DebianField.misfit(of: text, .debianPackages, all: PackagesList.keys)
            ),
            (
                .debianRelease,
                DebianField.misfit(of: text, .debianRelease, some: ReleaseList.keys)
            ),
        ]
        for (format, misfit) in Array(misfits) + paragraphs {
            guard let misfit else { return .found(format) }
            if misfit.depth > nearest?.depth ?? -1 { nearest = misfit }
        }
        return .unknown(nearest ?? ListDetection.nothing)
    }

    /// Whether a text is TOML, as lock files are: its first lines open tables or set keys.
    static func isTOML(_ text: ListText) -> Bool {
        let lines = text.telling.prefix(3)
        return lines.contains { $0.text.hasPrefix("[") || $0.text.contains(" = ") }
            && lines.allSatisfy { TOMLLists.flaw($0) == nil }
    }

    private static func misfit(of lines: [ListLine], _ candidate: Candidate) -> Misfit? {
        guard !lines.isEmpty else { return nothing }
        for (depth, line) in lines.enumerated() {
            guard let flaw = candidate.flaw(line) else { continue }
            return Misfit(
                format: candidate.format, depth: depth, place: line.place,
                reason: "\(Quoted(line.trimmed, limit: 40)) \(flaw)")
        }
        return nil
    }

    private static let nothing = Misfit(
        format: .urls, depth: 0, place: TextPosition(), reason: "there is no line in it")
}
