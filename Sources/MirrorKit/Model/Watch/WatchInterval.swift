/// Decides when a watch syncs next.
///
/// The next sync starts when a file is due, after `every` seconds at the latest, and sooner after a
/// failure.
package struct WatchInterval: Sendable, Hashable {
    /// Seconds after which the watch syncs even if nothing is due.
    var every: Int64
    /// The greatest random delay in seconds, so that many devices do not ask at the same moment.
    ///
    /// `nil` means a tenth of the wait, and ten minutes at most.
    var jitter: Int64?

    /// Seconds before the first sync after a failure. Each further failure doubles the wait.
    private static let firstRetry: Int64 = 30
    /// Seconds after which the watch checks a metered network again.
    private static let meteredInterval: Int64 = 300
    private static let longestJitter: Int64 = 600

    /// Takes the longest wait between syncs and the greatest random delay, in seconds.
    package init(every: Int64, jitter: Int64? = nil) {
        self.every = max(1, every)
        self.jitter = jitter
    }

    /// Returns the next sync after a sync that ended at `now`.
    ///
    /// - Parameter random: returns a random number of milliseconds from zero to its argument.
    package func next(
        after end: SyncEnd, at now: Instant, random: (Int64) -> Int64
    ) -> NextSync {
        let causes = candidates(end, now)
        let first = causes.min { $0.at < $1.at } ?? NextSync(at: later(now, every), cause: .every)
        let wait = max(0, first.at.milliseconds - now.milliseconds)
        if case .retry = first.cause {
            // A retry waits for a random time between half of the wait and the whole wait.
            return NextSync(at: soon(first.at, -random(wait / 2)), cause: first.cause)
        }
        var limit =
            jitter.map { min(max(0, $0), every) * 1000 }
            ?? min(wait / 10, WatchInterval.longestJitter * 1000)
        if case .permitted = first.cause, let closes = end.windowCloses {
            // The delay leaves at least half of the window to transfers.
            limit = min(limit, max(0, (closes.milliseconds - first.at.milliseconds) / 2))
        }
        return NextSync(at: soon(first.at, random(limit)), cause: first.cause)
    }

    private func candidates(_ end: SyncEnd, _ now: Instant) -> [NextSync] {
        var candidates = [NextSync(at: later(now, every), cause: .every)]
        if let due = end.nextDue {
            candidates.append(NextSync(at: max(due.at, later(now, 1)), cause: due.cause))
        }
        if end.failures > 0 {
            let doublings = min(end.failures - 1, 20)
            let wait = min(WatchInterval.firstRetry << Int64(doublings), every)
            candidates.append(NextSync(at: later(now, wait), cause: .retry(end.failures)))
        }
        if let deferral = end.deferral {
            let at = deferral.end ?? later(now, min(WatchInterval.meteredInterval, every))
            candidates.append(NextSync(at: max(at, later(now, 1)), cause: .permitted))
        }
        return candidates
    }

    private func later(_ now: Instant, _ seconds: Int64) -> Instant {
        now.advanced(bySeconds: seconds)
    }

    private func soon(_ instant: Instant, _ milliseconds: Int64) -> Instant {
        Instant(milliseconds: instant.milliseconds.addingSaturated(milliseconds))
    }
}

/// How a sync of a watch ended, as far as the next one depends on it.
package struct SyncEnd: Sendable, Hashable {
    /// The exit code of the sync.
    package var exit: Int32 = 0
    /// Whether the first sync of a watch has shown that no sync can succeed.
    package var isFinal = false
    /// The number of syncs in a row, this one included, that failed but may succeed when repeated.
    package var failures = 0
    /// The file or manifest that becomes due first. `nil` means that none will.
    package var nextDue: NextSync?
    /// Why mirror deferred downloads. `nil` means that it deferred none.
    package var deferral: Deferral?
    /// The end of the window for which the deferral waits.
    ///
    /// `nil` means that the deferral waits for no window.
    package var windowCloses: Instant?

    /// Creates the end of a sync after which nothing is known to be due.
    package init() {}
}

// The meaning of a sync's exit code for its watch.

extension SyncEnd {
    /// Whether the first sync of a watch shows that no sync can succeed.
    ///
    /// Such failures are a usage error, an invalid or missing manifest, an unusable root, and an
    /// index of a newer mirror. They end a watch at its first sync. Later they may come and go
    /// while the device is in use, so the watch continues.
    package static func isFinal(exit: Int32) -> Bool { [64, 65, 66, 70, 73, 78].contains(exit) }

    /// Whether an early retry may succeed where this sync failed.
    ///
    /// A resource that failed for good (exit code 1) stays failed until something changes. A run
    /// that a person ended (130) must not begin again at once.
    package static func isMendable(exit: Int32) -> Bool { exit != 0 && exit != 1 && exit < 128 }
}

/// When a watch syncs next, and why at that time.
package struct NextSync: Sendable, Hashable {
    /// The reason for the sync.
    package enum Cause: Sendable, Hashable {
        /// Nothing is due earlier, so the watch syncs after its longest wait.
        case every
        /// The named file or manifest becomes due.
        case due(String)
        /// This many syncs in a row have failed.
        case retry(Int)
        /// Transfers may run again.
        case permitted
    }

    /// The time of the sync.
    package var at: Instant
    /// The reason for that time.
    var cause: Cause

    /// Creates a value from the time and the reason.
    package init(at: Instant, cause: Cause) { (self.at, self.cause) = (at, cause) }

    /// Returns the next sync as a sentence for messages.
    package func sentence(on clock: LocalClock) -> String {
        let time = clock.description(of: at)
        return switch cause {
        case .every: "Next sync at \(time)."
        case .due(let name): "Next sync at \(time): \(name) is due then."
        case .retry: "Next try at \(time)."
        case .permitted: "Next sync at \(time): transfers may run again."
        }
    }
}
