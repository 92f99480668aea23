/// What failed, where, why, and what to do next: the one error that callers of the library see.
///
/// The message is a whole sentence for people, without secrets; the other fields are for scripts.
public struct MirrorError: Error, Sendable, Hashable {
    // In an object, because results and messages have room for an error that hardly any of them has.
    private var facts: ValueObject<Facts>

    private struct Facts: Hashable {
        var code: FailureCode
        var message: String
        var remedy: Remedy?
        var target: Target?
        var source: String?
        var status: Int?
        var attempts: Int = 0
        var expected: String?
        var actual: String?
        var tried: [String] = []
        var isRetryable: Bool
    }

    /// Takes a code and a sentence.
    public init(
        _ code: FailureCode, _ message: String, target: Target? = nil, remedy: Remedy? = nil
    ) {
        facts = ValueObject(
            Facts(
                code: code, message: message, remedy: remedy, target: target,
                isRetryable: code.isRetryable))
    }

    /// The kind of failure.
    public var code: FailureCode {
        get { facts.value.code }
        set { facts.value.code = newValue }
    }

    /// A sentence: what, where, and why.
    public var message: String {
        get { facts.value.message }
        set { facts.value.message = newValue }
    }

    /// What helps, if only the program has words for it; other advice ends the message.
    public var remedy: Remedy? {
        get { facts.value.remedy }
        set { facts.value.remedy = newValue }
    }

    /// The resource, where one is concerned.
    public var target: Target? {
        get { facts.value.target }
        set { facts.value.target = newValue }
    }

    /// The source that failed last, without its query.
    public var source: String? {
        get { facts.value.source }
        set { facts.value.source = newValue }
    }

    /// The status code that a server answered with.
    public var status: Int? {
        get { facts.value.status }
        set { facts.value.status = newValue }
    }

    /// How many requests were made for the resource.
    public var attempts: Int {
        get { facts.value.attempts }
        set { facts.value.attempts = newValue }
    }

    /// The declared or known value, e.g. a digest.
    public var expected: String? {
        get { facts.value.expected }
        set { facts.value.expected = newValue }
    }

    /// The value that was found instead.
    public var actual: String? {
        get { facts.value.actual }
        set { facts.value.actual = newValue }
    }

    /// The sources that were tried, in order, without their queries.
    public var tried: [String] {
        get { facts.value.tried }
        set { facts.value.tried = newValue }
    }

    /// Whether running again may help; an answer of 503 may heal, one of 404 will not.
    public var isRetryable: Bool {
        get { facts.value.isRetryable }
        set { facts.value.isRetryable = newValue }
    }
}

extension MirrorError: CustomStringConvertible {
    /// The sentence: what, where, and why.
    public var description: String { message }
}

extension MirrorError {
    /// The sentence without the target that it begins with, for a line that has named it.
    public func message(without target: Target) -> String {
        let prefix = target.path + ": "
        return message.utf8.starts(with: prefix.utf8)
            ? String(message.utf8.dropFirst(prefix.utf8.count)) ?? message : message
    }
}
