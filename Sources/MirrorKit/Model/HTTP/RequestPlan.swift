/// What a request asks for: its URL, its source, its range and its conditions.
struct RequestPlan: Sendable {
    /// The position of the source among the transfer's sources.
    var source: Int
    /// The URL of the request: the source's URL, or the one that redirects led to.
    var url: SourceURL
    /// The other places that a rewrite makes stand for the same URL, without queries.
    var relatives: [String] = []
    /// Whether the request is a POST with a body.
    var isPost = false
    /// Whether manifest headers and credentials are sent: never after a redirect to another origin.
    var carriesCredentials = true
    /// The cookies that redirects have set, as the value of the Cookie field; nil without cookies.
    var cookie: String?
    /// The position of the first requested byte.
    var offset: Int64 = 0
    /// The position after the last requested byte; nil requests the bytes up to the file's end.
    var end: Int64?
    /// The version to which the range must belong (RFC 9110 §13.1.5); nil for any version.
    var ifRange: StrongValidator?
    /// The version that the server may confirm instead of sending a body; nil for none.
    var condition: Condition?
    /// Whether the request makes caches on the way check with the origin.
    var bypassesCaches = false
    /// Whether the request uses HTTP/1.1, and not the protocol that TLS negotiates.
    ///
    /// A long body costs both sides more as a stream of HTTP/2, and waits in memory if its bytes
    /// come too fast. `HostProtocols` has other reasons.
    var usesHTTP1 = false
    /// Whether the request must have a connection of its own.
    var isAlone = false
    /// How many bytes the body is expected to have; nil if not known.
    var expectedBytes: Int64?
    /// Whether the request asks only for the head of the answer (RFC 9110 §9.3.2).
    var isHead = false

    /// Whether the request asks for a range, and not for the whole file.
    var asksRange: Bool { offset > 0 || end != nil }

    /// A body of at least this many bytes is long, and worth a connection of its own.
    static let leastLong: Int64 = 8 << 20

    /// A version that mirror already has, with the validators that its server sent.
    enum Condition: Sendable {
        /// The version of the file at the target.
        case local(Validators)
        /// The version of a part that has all its bytes.
        case part(Validators)

        /// The validators that the request sends.
        var validators: Validators {
            switch self {
            case .local(let validators), .part(let validators): validators
            }
        }
    }

    /// Makes a plain request for the whole file.
    init(source: Int, url: SourceURL) {
        self.source = source
        self.url = url
    }
}

extension RequestPlan {
    /// Calls `body` with each header field of the request, in the order in which they are sent.
    func eachField(_ body: (_ name: StaticString, _ value: String) -> Void) {
        if asksRange {
            let last = end.map { String($0 - 1) } ?? ""
            body("Range", "bytes=\(offset)-\(last)")
        }
        switch ifRange {
        case .entityTag(let tag): body("If-Range", tag.text)
        case .lastModified(let date): body("If-Range", date.description)
        case nil: break
        }
        if let validators = condition?.validators {
            if let tag = validators.entityTag {
                body("If-None-Match", tag.text)
            } else if let date = validators.lastModified {
                body("If-Modified-Since", date.description)
            }
        }
        if bypassesCaches { body("Cache-Control", "no-cache") }
    }
}

extension RequestPlan {
    /// Whether a status means that the server wants another protocol than this request's.
    func isRefused(by status: Int?) -> Bool {
        // A POST that the server answered is not made again.
        guard usesHTTP1, !isPost, let status else { return false }
        return StatusCode.refusesProtocol(status)
    }

    /// Whether a failure before any response may come from a server that speaks another protocol.
    func isRefused(by failure: TransportFailure) -> Bool {
        guard usesHTTP1, !isPost || !failure.wasSent else { return false }
        return switch failure.code {
        case .connectionLost: failure.wasSent
        case .malformedResponse: true
        default: failure.mayBeProtocol
        }
    }
}

/// A source of a transfer, as the decisions see it.
struct CandidateSource: Sendable, Hashable {
    /// The URL of the bytes.
    var url: SourceURL
    /// The name under which the index remembers the source.
    var key: SourceKey
    /// Whether the program may supply other credentials for the source's origin after a 401.
    var mayRenewCredentials = false
    /// Whether requests to the source are signed, so that a 400 or 403 may be about the keys.
    var isSigned = false
    /// The store or cache that the source is at, if the user put it in front of the others.
    ///
    /// The sources at one place share a fate: if it is down, none is asked any more in the run.
    var place: String?
    /// The other places that a rewrite makes stand for the same URL, without queries.
    var relatives: [String] = []
}
