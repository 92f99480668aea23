import Glibc
import MirrorKit
import MirrorModel
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

extension LocalClock {
    /// The clock of this process: the current time, in the zone that TZ or the system names.
    static func ofThisProcess(now: Instant) -> LocalClock {
        LocalClock(now: now, offset: MirrorSession.localOffset)
    }
}

extension Instant {
    /// The wall clock's time (clock_gettime(2), CLOCK_REALTIME).
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
