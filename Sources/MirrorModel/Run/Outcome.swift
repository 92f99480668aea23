/// How a resource ended; every resource of a run has exactly one outcome.
public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case fetched, resumed, updated, notModified, unchanged, copied, moved, adopted, kept, repaired
    case edited, conflict, stale
    /// Missing or due, and not asked for now: hours, network or budget forbid it.
    case deferred
    /// Removed from Caches or tmp, or left out, because there is no room for it now.
    case evicted
    /// Left out by a tag, or not begun when the run ended early.
    case skipped
    /// Begun, and not finished when the run ended early.
    case interrupted
    case failed
}

extension Outcome {
    /// Its place in `allCases`.
    var number: Int {
        switch self {
        case .fetched: 0
        case .resumed: 1
        case .updated: 2
        case .notModified: 3
        case .unchanged: 4
        case .copied: 5
        case .moved: 6
        case .adopted: 7
        case .kept: 8
        case .repaired: 9
        case .edited: 10
        case .conflict: 11
        case .stale: 12
        case .deferred: 13
        case .evicted: 14
        case .skipped: 15
        case .interrupted: 16
        case .failed: 17
        }
    }
}

/// The totals of a run, which are its last event.
public struct Summary: Sendable, Hashable {
    /// Resources of the manifests; the sum over all outcomes.
    public var resources = 0
    /// The number of resources with each outcome.
    public var outcomes: [Outcome: Int] = [:]
    /// How many of the failed resources are optional.
    public var failedOptional = 0
    /// How many of the skipped resources the caller's tags left out.
    public var deselected = 0
    /// Orphans that were removed.
    public var removed = 0
    /// Orphans that stayed.
    public var orphans = 0
    /// Sets that were left as they were, because not all of their files could be promoted.
    public var setsLeft = 0
    /// Promoted files whose bytes could not be verified by size or digest.
    public var unverified = 0
    /// Body bytes that arrived.
    public var bytesReceived: Int64 = 0
    /// Bytes of parts that were not fetched again.
    public var bytesReused: Int64 = 0
    /// How many of the interrupted resources have a part that a later run can continue.
    public var parts = 0
    /// The bytes in those parts.
    public var partBytes: Int64 = 0
    /// Requests made.
    public var requests = 0
    /// The duration of the run in seconds, counted from the moment that its options name.
    public var seconds: Double = 0
    /// The error that ended the run early.
    public var error: MirrorError?
    /// The resulting exit code.
    public var exit: Int32 = 0
    /// The root's path.
    public var root = ""

    /// A run in which nothing happened.
    public init() {}

    /// Records a failure that occurred after the last resource had ended, while the run was closed.
    ///
    /// An error that had already ended the run stays, and so does the exit code of a signal.
    public mutating func enter(late failure: MirrorError) {
        guard error == nil else { return }
        error = failure
        let code = ExitVerdict.code(for: failure)
        // Running again helps only where nothing else failed for good.
        if exit < 128, !(exit == 1 && code == 69) { exit = code }
    }

    /// The number of resources with this outcome.
    public subscript(outcome: Outcome) -> Int {
        get { outcomes[outcome, default: 0] }
        set { outcomes[outcome] = newValue }
    }
}
