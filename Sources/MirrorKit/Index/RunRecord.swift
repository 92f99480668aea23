internal import MirrorModel

/// A run as the index remembers it.
struct RunRecord: Sendable, Hashable {
    /// Unique; sorts by time.
    var id: String
    /// When it began.
    var startedAt: Instant
    /// When it ended; nil for one that runs or was killed.
    var endedAt: Instant?
    /// Its exit code.
    var exit: Int32?
    /// Its summary, as JSON.
    var summary: String?
}
