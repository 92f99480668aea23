/// What went wrong, as a word that scripts may rely on; the list is closed and documented.
public enum FailureCode: String, Sendable, Hashable, CaseIterable {
    // Reaching a source.
    case nameNotResolved = "name-not-resolved"
    case connectFailed = "connect-failed"
    case tlsFailed = "tls-failed"
    case connectionLost = "connection-lost"
    case stalled = "stalled"
    case privateAddress = "private-address"
    case offline = "offline"
    case noCredentials = "no-credentials"
    // What a source answered.
    case httpStatus = "http-status"
    case retryAfterTooLong = "retry-after-too-long"
    case redirectRefused = "redirect-refused"
    case tooManyRedirects = "too-many-redirects"
    case malformedResponse = "malformed-response"
    case encodingRefused = "encoding-refused"
    case typeMismatch = "type-mismatch"
    case sizeMismatch = "size-mismatch"
    case tooLarge = "too-large"
    case digestMismatch = "digest-mismatch"
    case unverifiable = "unverifiable"
    case sourceChanged = "source-changed"
    case rangeIgnored = "range-ignored"
    // The tree.
    case conflict = "conflict"
    case obstructed = "obstructed"
    case nameTaken = "name-taken"
    case nameMissing = "name-missing"
    case sourceFileUnreadable = "source-file-unreadable"
    case inputOutput = "input-output"
    case noSpace = "no-space"
    // The run.
    case deadline = "deadline"
    case cancelled = "cancelled"
    case usage = "usage"
    case manifestInvalid = "manifest-invalid"
    case manifestUnreadable = "manifest-unreadable"
    case rootUnusable = "root-unusable"
    case locked = "locked"
    case deleteLimit = "delete-limit"
    case spaceLimit = "space-limit"
    case transferLimit = "transfer-limit"
    case indexNewer = "index-newer"
    case internalError = "internal-error"

    /// Whether running again, with nothing changed here, may help.
    public var isRetryable: Bool {
        switch self {
        case .nameNotResolved, .connectFailed, .connectionLost, .stalled, .offline,
            .retryAfterTooLong, .deadline, .cancelled, .locked, .sourceChanged,
            .rangeIgnored:
            true
        default: false
        }
    }
}

/// What failed, where, why, and what to do next: the one error that callers of the library see.
///
/// The message is a whole sentence for people, without secrets; the other fields are for scripts.
public struct MirrorError: Error, Sendable, Hashable {
    /// The kind of failure.
    public var code: FailureCode
    /// A sentence: what, where, why, and what to do.
    public var message: String
    /// The resource, where one is concerned.
    public var target: Target?
    /// The source that failed last, without its query.
    public var source: String?
    /// The status code that a server answered with.
    public var status: Int?
    /// How many requests were made for the resource.
    public var attempts: Int = 0
    /// What was declared or known, e.g. a digest.
    public var expected: String?
    /// What was found instead.
    public var actual: String?
    /// The sources that were tried, in order, without their queries.
    public var tried: [String] = []
    /// Whether running again may help; an answer of 503 may heal, one of 404 will not.
    public var isRetryable: Bool

    /// Takes a code and a sentence.
    public init(_ code: FailureCode, _ message: String, target: Target? = nil) {
        self.code = code
        self.message = message
        self.target = target
        self.isRetryable = code.isRetryable
    }
}

extension MirrorError {
    /// The sentence without the target that it begins with, for a line that has named it.
    public func message(without target: Target) -> String {
        let prefix = target.path + ": "
        return message.utf8.starts(with: prefix.utf8)
            ? String(message.utf8.dropFirst(prefix.utf8.count)) ?? message : message
    }
}

extension FailureCode {
    /// Whether it would be met again by every other resource of the run.
    public var endsRun: Bool {
        switch self {
        case .noSpace, .inputOutput, .spaceLimit, .transferLimit: true
        default: false
        }
    }
}
