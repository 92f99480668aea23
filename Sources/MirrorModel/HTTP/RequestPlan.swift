/// One request, decided: what is asked, of whom, and under which conditions.
public struct RequestPlan: Sendable, Hashable {
    /// The position of the source among the transfer's sources.
    public var source: Int
    /// Where the request goes: the source's URL, or where redirects led.
    public var url: SourceURL
    /// Whether the body of a POST is sent.
    public var isPost = false
    /// Whether manifest headers and credentials go along: never once another origin was entered.
    public var carriesCredentials = true
    /// The first byte asked for; 0 asks for the whole file.
    public var offset: Int64 = 0
    /// The position after the last byte asked for; nil asks up to the file's end.
    public var end: Int64?
    /// The version that the range must be of (RFC 9110 §13.1.5).
    public var ifRange: StrongValidator?
    /// The version whose confirmation would be enough.
    public var condition: Condition?
    /// Whether caches on the way are told to ask the origin.
    public var bypassesCaches = false
    /// Whether a long body is expected, which is asked for over HTTP/1.1: as a stream of HTTP/2 it costs
    /// both sides more, and waits in memory when its bytes come too fast.
    public var isLong = false

    /// From how many bytes on a body is long: enough to be worth a connection of its own.
    static let leastLong: Int64 = 8 << 20

    /// A version that is at hand, by what its server said of it.
    public enum Condition: Sendable, Hashable {
        /// The file at the target.
        case local(Validators)
        /// A part that has all its bytes.
        case part(Validators)

        /// What is sent.
        public var validators: Validators {
            switch self {
            case .local(let validators), .part(let validators): validators
            }
        }
    }

    /// A plain request for the whole file.
    public init(source: Int, url: SourceURL) {
        self.source = source
        self.url = url
    }

    /// The header fields that follow from the plan, in the order in which they are sent.
    public var fields: [(name: String, value: String)] {
        var fields: [(String, String)] = []
        if offset > 0 {
            let last = end.map { String($0 - 1) } ?? ""
            fields.append(("Range", "bytes=\(offset)-\(last)"))
        }
        switch ifRange {
        case .entityTag(let tag): fields.append(("If-Range", tag.text))
        case .lastModified(let date): fields.append(("If-Range", date.description))
        case nil: break
        }
        if let validators = condition?.validators {
            if let tag = validators.entityTag {
                fields.append(("If-None-Match", tag.text))
            } else if let date = validators.lastModified {
                fields.append(("If-Modified-Since", date.description))
            }
        }
        if bypassesCaches { fields.append(("Cache-Control", "no-cache")) }
        return fields
    }
}

/// A source as decisions see it.
public struct CandidateSource: Sendable, Hashable {
    /// Where the bytes are.
    public var url: SourceURL
    /// The name under which it is remembered.
    public var key: SourceKey

    /// Takes a URL and its key.
    public init(url: SourceURL, key: SourceKey) {
        self.url = url
        self.key = key
    }
}
