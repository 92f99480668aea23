/// Whether an interrupted download can be resumed without a digest that vouches for the whole.
public enum ResumeSafety: Sendable, Hashable {
    /// The validator identifies every byte, and the server sends ranges.
    case safe(StrongValidator)
    /// It starts over, for this reason.
    case startsOver(Obstacle)

    /// Why a download starts over.
    public enum Obstacle: Sendable, Hashable {
        /// The server sends no ranges.
        case noRanges
        /// Whether it sends ranges is not known.
        case unknownRanges
        /// No validator came at all.
        case noValidator
        /// The entity tag says that it does not identify every byte.
        case weakTag
        /// The entity tag is malformed.
        case malformedTag
        /// The file was modified in the second of the answer, and may have been modified again.
        case modifiedJustNow
        /// Modification and answer have no dates that could be compared.
        case noDate
        /// The body is encoded, and bytes of one encoding do not fit those of another.
        case encoded(String)
    }

    /// Judges what a server says of a file.
    public init(_ report: ProbeReport) {
        if let strong = report.validators.strong, Self.obstacle(toRanges: report) == nil {
            self = .safe(strong)
        } else {
            self = .startsOver(Self.obstacle(toRanges: report) ?? Self.obstacle(toTrust: report))
        }
    }

    /// Why a range would not come, or not fit.
    private static func obstacle(toRanges report: ProbeReport) -> Obstacle? {
        if let coding = report.contentCoding { return .encoded(coding) }
        return switch report.ranges {
        case .refused: .noRanges
        case .unknown: .unknownRanges
        case .honoured, .offered: nil
        }
    }

    /// Why no validator identifies every byte, where none is strong.
    private static func obstacle(toTrust report: ProbeReport) -> Obstacle {
        if report.hasMalformedTag { return .malformedTag }
        if report.validators.entityTag?.isWeak == true { return .weakTag }
        guard let modified = report.validators.lastModified else { return .noValidator }
        return report.received.seconds - modified.seconds <= 1 ? .modifiedJustNow : .noDate
    }

    /// Whether a download is resumed.
    public var isSafe: Bool { if case .safe = self { true } else { false } }

    /// The word that scripts may rely on.
    public var code: String {
        switch self {
        case .safe(.entityTag): "entity-tag"
        case .safe(.lastModified): "last-modified"
        case .startsOver(.noRanges): "no-ranges"
        case .startsOver(.unknownRanges): "ranges-unknown"
        case .startsOver(.noValidator): "no-validator"
        case .startsOver(.weakTag): "weak-etag"
        case .startsOver(.malformedTag): "malformed-etag"
        case .startsOver(.modifiedJustNow): "modified-just-now"
        case .startsOver(.noDate): "no-date"
        case .startsOver(.encoded): "encoded"
        }
    }

    /// A sentence that says what becomes of an interrupted download, and why.
    public var sentence: String {
        switch self {
        case .safe(.entityTag(let tag)):
            "An interrupted download is resumed: the entity tag \(tag) identifies every byte."
        case .safe(.lastModified(let date)):
            "An interrupted download is resumed: \(date) is old enough to identify every byte."
        case .startsOver(let obstacle):
            "An interrupted download starts over: \(obstacle.words)."
                + (obstacle.yieldsToDigest ? " With a sha256 in the manifest it is resumed." : "")
        }
    }
}

extension ResumeSafety.Obstacle {
    fileprivate var words: String {
        switch self {
        case .noRanges: "the server sends no ranges"
        case .unknownRanges: "the server does not say whether it sends ranges"
        case .noValidator: "the server sends neither an entity tag nor a modification date"
        case .weakTag: "the entity tag is weak, so two versions may share it"
        case .malformedTag: "the entity tag is malformed"
        case .modifiedJustNow:
            "the file was modified less than a second before the answer, and may be modified again"
        case .noDate: "the answer has no date that says how old the modification was"
        case .encoded(let coding): "the body is encoded as \(coding) although nothing asked for it"
        }
    }

    /// Whether a declared digest makes up for it, because the server sends ranges all the same.
    fileprivate var yieldsToDigest: Bool {
        switch self {
        case .noValidator, .weakTag, .malformedTag, .modifiedJustNow, .noDate: true
        case .noRanges, .unknownRanges, .encoded: false
        }
    }
}
