import Glibc
import MirrorModel

/// When the command began: its deadline and its seconds count from that instant.
enum CommandTime {
    /// The instant at which `main` was entered; its first use is there, and fixes it.
    static let began = ContinuousClock.now

    /// Seconds since the command began.
    static var seconds: Double {
        let (seconds, attoseconds) = began.duration(to: .now).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

extension LocalClock {
    /// The clock of this process: the current time, in the zone that TZ or the system names.
    static func ofThisProcess(now: Instant) -> LocalClock {
        tzset()
        return LocalClock(now: now) { instant in
            var seconds = time_t(instant.seconds)
            var local = tm()
            guard localtime_r(&seconds, &local) != nil else { return 0 }
            return Int64(local.tm_gmtoff)
        }
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
