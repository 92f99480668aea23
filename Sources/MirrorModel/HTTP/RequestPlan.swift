/// What a request asks for: its URL, its source, its range and its conditions.
package struct RequestPlan: Sendable {
    /// The position of the source among the transfer's sources.
    package var source: Int
    /// The URL of the request: the source's URL, or the one that redirects led to.
    package var url: SourceURL
    /// Whether the body of a POST is sent.
    package var isPost = false
    /// Whether manifest headers and credentials are sent: never after a redirect to another origin.
    package var carriesCredentials = true
    /// The cookies that redirects have set, as the value of their field.
    package var cookie: String?
    /// The first byte asked for.
    package var offset: Int64 = 0
    /// The position after the last byte asked for; nil asks up to the file's end.
    package var end: Int64?
    /// The version that the range must belong to (RFC 9110 §13.1.5).
    package var ifRange: StrongValidator?
    /// The version that the server may confirm instead of sending a body.
    package var condition: Condition?
    /// Whether caches on the way are told to ask the origin.
    package var bypassesCaches = false
    /// Whether it uses HTTP/1.1, and not the protocol that TLS negotiates.
    ///
    /// As a stream of HTTP/2 a long body costs both sides more, and it waits in memory when its
    /// bytes come too fast. For other reasons see `HostProtocols`.
    package var usesHTTP1 = false
    /// Whether it must have a connection of its own.
    package var isAlone = false
    /// How many bytes the body is expected to have, where something says so.
    package var expectedBytes: Int64?
    /// Whether only the head of the answer is asked for (RFC 9110 §9.3.2).
    package var isHead = false

    /// Whether a range is asked for, and not the whole file.
    package var asksRange: Bool { offset > 0 || end != nil }

    /// The least length of a long body, in bytes: enough to be worth a connection of its own.
    static let leastLong: Int64 = 8 << 20

    /// A version that is at hand, with the validators that its server sent.
    package enum Condition: Sendable {
        /// The file at the target.
        case local(Validators)
        /// A part that has all its bytes.
        case part(Validators)

        /// The validators to send.
        package var validators: Validators {
            switch self {
            case .local(let validators), .part(let validators): validators
            }
        }
    }

    /// A plain request for the whole file.
    package init(source: Int, url: SourceURL) {
        self.source = source
        self.url = url
    }
}

extension RequestPlan {
    /// Names the header fields that follow from the plan, in the order in which they are sent.
    package func eachField(_ body: (_ name: StaticString, _ value: String) -> Void) {
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
    /// Whether a status says that the server wants another protocol than that of this request.
    package func isRefused(by status: Int?) -> Bool {
        // A POST that was answered is not made again.
        guard usesHTTP1, !isPost, let status else { return false }
        return StatusCode.refusesProtocol(status)
    }

    /// Whether a failure before any response may come from a server of another protocol.
    package func isRefused(by failure: TransportFailure) -> Bool {
        guard usesHTTP1, !isPost || !failure.wasSent else { return false }
        return switch failure.code {
        case .connectionLost: failure.wasSent
        case .malformedResponse: true
        default: failure.mayBeProtocol
        }
    }
}

/// A source as decisions see it.
package struct CandidateSource: Sendable, Hashable {
    /// Where the bytes are.
    package var url: SourceURL
    /// The name under which it is remembered.
    package var key: SourceKey
    /// Whether the program may have other credentials for its origin after a 401.
    package var mayRenewCredentials = false

    /// Takes a URL and its key.
    package init(url: SourceURL, key: SourceKey, mayRenewCredentials: Bool = false) {
        self.url = url
        self.key = key
        self.mayRenewCredentials = mayRenewCredentials
    }
}
