package import MirrorModel

/// A run as the index remembers it.
package struct RunRecord: Sendable, Hashable {
    /// Unique; sorts by time.
    package var id: String
    /// When it began.
    package var startedAt: Instant
    /// When it ended; nil for one that runs or was killed.
    package var endedAt: Instant?
    /// Its exit code.
    package var exit: Int32?
    /// Its summary, as JSON.
    package var summary: String?

    /// Takes what a run came to.
    package init(
        id: String, startedAt: Instant, endedAt: Instant? = nil, exit: Int32? = nil,
        summary: String? = nil
    ) {
        self.id = id
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.exit = exit
        self.summary = summary
    }
}
