package import MirrorModel

/// A run as the index remembers it.
package struct RunRecord: Sendable, Hashable {
    /// Unique; sorts by time.
    package var id: String
    /// When the run began.
    package var startedAt: Instant
    /// When the run ended; nil for a run that is under way or was killed.
    package var endedAt: Instant?
    /// The run's exit code.
    package var exit: Int32?
    /// The run's summary, as JSON.
    package var summary: String?

    /// Makes a record; end, exit code and summary are nil until the run ends.
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
