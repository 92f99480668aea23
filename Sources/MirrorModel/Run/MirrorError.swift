/// What failed, where, why, and what to do next: the one error that callers of the library see.
///
/// The message is a whole sentence for people, without secrets; the other fields are for scripts.
public struct MirrorError: Error, Sendable, Hashable {
    /// The kind of failure.
    public var code: FailureCode
    /// A sentence: what, where, and why.
    public var message: String
    /// What helps, if only the program has words for it; other advice ends the message.
    public var remedy: Remedy?
    /// The resource, where one is concerned.
    public var target: Target?
    /// The source that failed last, without its query.
    public var source: String?
    /// The status code that a server answered with.
    public var status: Int?
    /// How many requests were made for the resource.
    public var attempts: Int = 0
    /// The declared or known value, e.g. a digest.
    public var expected: String?
    /// The value that was found instead.
    public var actual: String?
    /// The sources that were tried, in order, without their queries.
    public var tried: [String] = []
    /// Whether running again may help; an answer of 503 may heal, one of 404 will not.
    public var isRetryable: Bool

    /// Takes a code and a sentence.
    public init(
        _ code: FailureCode, _ message: String, target: Target? = nil, remedy: Remedy? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
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
