/// How a resource ended; every resource of a run has exactly one outcome.
public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case fetched, resumed, updated, notModified, unchanged, copied, moved, adopted, kept, repaired
    case edited, conflict, stale
    /// Left out by a tag, or not begun when the run ended early.
    case skipped
    /// Begun, and not finished when the run ended early.
    case interrupted
    case failed
}

/// What a run did, in numbers: the last event of every run.
public struct Summary: Sendable, Hashable {
    /// Resources of the manifests; the sum over all outcomes.
    public var resources = 0
    /// How many resources ended how.
    public var outcomes: [Outcome: Int] = [:]
    /// How many of the failed ones are optional.
    public var failedOptional = 0
    /// How many of the skipped ones the caller's tags left out.
    public var deselected = 0
    /// Orphans that were removed.
    public var removed = 0
    /// Orphans that were left.
    public var orphans = 0
    /// Promoted files whose bytes nothing vouches for.
    public var unverified = 0
    /// Body bytes that arrived.
    public var bytesReceived: Int64 = 0
    /// Bytes of parts that were not fetched again.
    public var bytesReused: Int64 = 0
    /// How many of the interrupted ones have a part that a later run can continue.
    public var parts = 0
    /// What those parts keep, in bytes.
    public var partBytes: Int64 = 0
    /// Requests made.
    public var requests = 0
    /// How long the run took, in seconds, counted from where its options say.
    public var seconds: Double = 0
    /// What ended the run before its end.
    public var error: MirrorError?
    /// The exit code that follows.
    public var exit: Int32 = 0
    /// The root's path.
    public var root = ""

    /// A run in which nothing happened.
    public init() {}

    /// Enters what failed after the last resource had ended, when the run was put away.
    ///
    /// What had ended the run before keeps its word, and so does a signal.
    public mutating func enter(late failure: MirrorError) {
        guard error == nil else { return }
        error = failure
        if exit < 128 { exit = ExitVerdict.code(for: failure.code) }
    }

    /// How many resources ended so.
    public subscript(outcome: Outcome) -> Int {
        get { outcomes[outcome, default: 0] }
        set { outcomes[outcome] = newValue }
    }
}
