/// What a server says about the file of a URL, found without fetching the file.
package struct ProbeReport: Sendable, Hashable {
    /// The URL that was asked for, without its query.
    package var url: String
    /// The URLs that redirects led to, in order, without their queries. The last URL answered.
    package var redirects: [String] = []
    /// The status of the last response. `nil` means that there was none.
    package var status: Int?
    /// The version of HTTP: `1.0`, `1.1` or `2`.
    package var version: String?
    /// The size of the whole file in bytes. `nil` means that the server does not say.
    package var size: Int64?
    /// The media type, without parameters.
    package var mediaType: String?
    /// The validators, and which of them identifies every byte.
    package var validators = Validators()
    /// Whether the server sent a malformed entity tag.
    package var hasMalformedTag = false
    /// Whether the server sends ranges of bytes.
    package var ranges = RangeSupport.unknown
    /// The content coding that the body has, although mirror asked for none. `nil` means none.
    package var contentCoding: String?
    /// The name that the server suggests.
    /// A file gets it if the manifest leaves the name to the server.
    package var name: String?
    /// When mirror received the response.
    package var received = Instant(seconds: 0)
    /// Until when the response is fresh. `nil` means that the server does not say.
    package var freshUntil: Instant?
    /// Why there is no good response. `nil` means that the server has the file.
    package var error: MirrorError?

    /// Creates a report about a URL before any response.
    init(url: String) { self.url = url }

    /// Whether the server has the file.
    var isGood: Bool { error == nil }
}

// MARK: What responses add

extension ProbeReport {
    /// Records the head of a response to HEAD.
    mutating func take(head: ResponseHead, from url: SourceURL, at now: Instant) {
        takeCommon(head, from: url, at: now)
        size = head.single(.contentLength).flatMap { DecimalDigits.value(of: $0.utf8) }
        ranges = head.announcedRanges
    }

    /// Records the head of a response to a GET of the first byte.
    mutating func take(firstByte head: ResponseHead, from url: SourceURL, at now: Instant) {
        takeCommon(head, from: url, at: now)
        switch (head.status, head.contentRange) {
        case (206, .bytes(first: 0, last: 0, let total)):
            ranges = .honoured
            size = total ?? size
        case (416, .unsatisfied(total: 0)):
            // An empty file has no first byte.
            (ranges, size, error) = (.honoured, 0, nil)
        case (200, _):
            ranges = .refused
            size =
                head.single(.contentLength).flatMap { DecimalDigits.value(of: $0.utf8) } ?? size
        default: break
        }
    }

    private mutating func takeCommon(
        _ head: ResponseHead, from url: SourceURL, at now: Instant
    ) {
        status = head.status
        version = head.version.rawValue
        received = now
        error = (200..<300).contains(head.status) ? nil : Self.refusal(head.status, url)
        mediaType = head.mediaType ?? mediaType
        validators = Validators(of: head)
        hasMalformedTag = head.has(.entityTag) && validators.entityTag == nil
        contentCoding = head.contentCodings.first
        freshUntil = head.freshUntil(received: now)
        name = head.suggestedName ?? name
    }

    private static func refusal(_ status: Int, _ url: SourceURL) -> MirrorError {
        let mayPass = StatusCode.mayHeal(status)
        var error = MirrorError(
            .httpStatus,
            "\(url): the server answered \(status)."
                + (mayPass ? " Try again later." : StatusCode.advice(status))
        )
        error.isRetryable = mayPass
        error.status = status
        error.source = url.description
        error.remedy = ResponseError(.httpStatus, error.message, status: status).remedy(at: url)
        return error
    }

    /// Whether mirror must ask for one byte, because the response to HEAD says too little.
    ///
    /// Some servers do not know HEAD or forbid it. Others send fewer header fields with HEAD than
    /// with the file (RFC 9110 §9.3.2).
    var needsFirstByte: Bool {
        if !isGood { return [400, 403, 404, 405, 500, 501].contains(status) }
        let hasNoValidator = validators.entityTag == nil && validators.lastModified == nil
        return size == nil || ranges == .unknown || hasNoValidator
    }
}

extension ProbeReport {
    /// Writes the report as members of an object. Unknown values are null.
    package func writeMembers(to json: inout JSONWriter) {
        let safety = ResumeSafety(self)
        json.member("url", url)
        json.member("redirects", redirects)
        json.member("status", status)
        json.member("version", version)
        json.member("size", size)
        json.member("type", mediaType)
        json.member("etag", validators.entityTag?.text)
        json.member("lastModified", validators.lastModified?.description)
        json.member("validator", validators.strong.map(Self.word))
        json.member("ranges", ranges.rawValue)
        json.member("encoding", contentCoding)
        json.member("name", name)
        json.member("freshUntil", freshUntil?.rfc3339)
        json.member("resumes", isGood && safety.isSafe)
        json.member("resumeReason", isGood ? safety.code : nil)
        json.member("because", isGood ? safety.sentence : nil)
        json.key("error")
        if let error {
            json.object { error.writeMembers(to: &$0) }
        } else {
            json.null()
        }
    }

    private static func word(for strong: StrongValidator) -> String {
        switch strong {
        case .entityTag: "etag"
        case .lastModified: "last-modified"
        }
    }
}

/// Whether an interrupted download can be resumed without a digest that vouches for the whole.
package enum ResumeSafety: Sendable, Hashable {
    /// The validator identifies every byte, and the server sends ranges.
    case safe(StrongValidator)
    /// The download starts over, for this reason.
    case startsOver(Obstacle)

    /// Why a download starts over.
    package enum Obstacle: Sendable, Hashable {
        /// The server sends no ranges.
        case noRanges
        /// It is unknown whether the server sends ranges.
        case unknownRanges
        /// The server sent no validator at all.
        case noValidator
        /// The entity tag is weak: it does not identify every byte.
        case weakTag
        /// The entity tag is malformed.
        case malformedTag
        /// The file was modified in the second of the response, and may have been modified again.
        case modifiedJustNow
        /// The response has no date to compare with the modification date.
        case noDate
        /// The body has this content coding, and bytes of two codings do not fit together.
        case encoded(String)
    }

    /// Judges what a server says of a file.
    package init(_ report: ProbeReport) {
        if let strong = report.validators.strong, Self.obstacle(toRanges: report) == nil {
            self = .safe(strong)
        } else {
            self = .startsOver(Self.obstacle(toRanges: report) ?? Self.obstacle(toTrust: report))
        }
    }

    /// Why the server would send no range, or one that does not fit.
    /// Returns nil if a range would fit.
    private static func obstacle(toRanges report: ProbeReport) -> Obstacle? {
        if let coding = report.contentCoding { return .encoded(coding) }
        return switch report.ranges {
        case .refused: .noRanges
        case .unknown: .unknownRanges
        case .honoured, .offered: nil
        }
    }

    /// Why no validator identifies every byte. The caller has found that no validator is strong.
    private static func obstacle(toTrust report: ProbeReport) -> Obstacle {
        if report.hasMalformedTag { return .malformedTag }
        if report.validators.entityTag?.isWeak == true { return .weakTag }
        guard let modified = report.validators.lastModified else { return .noValidator }
        return report.received.seconds - modified.seconds <= 1 ? .modifiedJustNow : .noDate
    }

    /// Whether an interrupted download is resumed.
    var isSafe: Bool { if case .safe = self { true } else { false } }

    /// The reason as a word that scripts may rely on.
    var code: String {
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
    package var sentence: String {
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

    /// Whether a declared digest makes up for the obstacle, because the server still sends ranges.
    fileprivate var yieldsToDigest: Bool {
        switch self {
        case .noValidator, .weakTag, .malformedTag, .modifiedJustNow, .noDate: true
        case .noRanges, .unknownRanges, .encoded: false
        }
    }
}
