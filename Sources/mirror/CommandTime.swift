import Synchronization

/// When the command, or the sync of a watch, began: its deadline and its seconds count from then.
enum CommandTime {
    private static let instant = Mutex(ContinuousClock.now)

    /// The instant at which `main` was entered; its first use is there, and fixes it.
    static var began: ContinuousClock.Instant { instant.withLock { $0 } }

    /// Begins again: with the next sync of a watch.
    static func restart() { instant.withLock { $0 = .now } }

    /// Seconds since the command began.
    static var seconds: Double {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
