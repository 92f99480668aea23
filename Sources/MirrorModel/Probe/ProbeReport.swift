/// What a server says about a URL, without fetching its file.
public struct ProbeReport: Sendable, Hashable {
    /// The URL that was asked for, without its query.
    public var url: String
    /// The URLs that redirects led to, in order, without their queries; the last one answered.
    public var redirects: [String] = []
    /// The status of the last answer; nil where there was none.
    public var status: Int?
    /// The version of HTTP: `1.0`, `1.1` or `2`.
    public var version: String?
    /// The size of the whole file in bytes.
    public var size: Int64?
    /// The media type, without parameters.
    public var mediaType: String?
    /// The validators, and which of them identifies every byte.
    public var validators = Validators()
    /// Whether the server sent a malformed entity tag.
    public var hasMalformedTag = false
    /// Whether the server sends ranges.
    public var ranges = RangeSupport.unknown
    /// The content coding that the body has although none was asked for.
    public var contentCoding: String?
    /// The name that a file gets where the manifest leaves it to the server.
    public var name: String?
    /// When the answer was received.
    public var received = Instant(seconds: 0)
    /// Until when the answer is fresh; nil where the server does not say.
    public var freshUntil: Instant?
    /// Why there is no good answer.
    public var error: MirrorError?

    /// A report about a URL before any answer.
    public init(url: String) { self.url = url }

    /// Whether the server has the file.
    public var isGood: Bool { error == nil }
}

// MARK: What answers add

extension ProbeReport {
    /// Takes in the head of an answer to HEAD.
    package mutating func take(head: ResponseHead, from url: SourceURL, at now: Instant) {
        takeCommon(head, from: url, at: now)
        size = head.single(.contentLength).flatMap { DecimalDigits.value(of: $0.utf8) }
        ranges = head.announcedRanges
    }

    /// Takes in the head of an answer to a GET of the first byte.
    package mutating func take(firstByte head: ResponseHead, from url: SourceURL, at now: Instant) {
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
        name = ContentDisposition.fileName(head.list(of: .contentDisposition)) ?? name
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
        return error
    }

    /// Whether one byte must be asked for, because the head of the file says too little.
    ///
    /// Some servers do not know HEAD or forbid it, and some leave out of its answer what they send with
    /// the file (RFC 9110 §9.3.2).
    package var needsFirstByte: Bool {
        if !isGood { return [400, 403, 404, 405, 500, 501].contains(status) }
        let hasNoValidator = validators.entityTag == nil && validators.lastModified == nil
        return size == nil || ranges == .unknown || hasNoValidator
    }
}
