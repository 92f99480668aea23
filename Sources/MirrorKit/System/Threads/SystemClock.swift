internal import CLinux
internal import Glibc

/// The clocks of the system. Functions that decide get readings of the clocks as values.
///
/// A loop reads the clocks through an instance, so that a simulation can replace them.
struct SystemClock: Sendable {
    /// Milliseconds that never decrease.
    var monotonic: @Sendable () -> Int64
    /// Milliseconds of processor time that the calling thread has used.
    var threadBusy: @Sendable () -> Int64
    /// The wall clock's time.
    var now: @Sendable () -> Instant
    /// By how much local time is ahead of UTC.
    var offset: LocalOffset

    /// Creates a value with the system's clocks, except for the given ones.
    init(
        monotonic: @escaping @Sendable () -> Int64 = SystemClock.monotonic,
        threadBusy: @escaping @Sendable () -> Int64 = SystemClock.threadBusy,
        now: @escaping @Sendable () -> Instant = SystemClock.now,
        offset: LocalOffset = SystemClock.localOffset
    ) {
        self.monotonic = monotonic
        self.threadBusy = threadBusy
        self.now = now
        self.offset = offset
    }
}

extension SystemClock {
    /// Milliseconds that never decrease, sleep included (CLOCK_BOOTTIME).
    static func monotonic() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Milliseconds of processor time that the calling thread has used.
    static func threadBusy() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// By how much local time is ahead of UTC, in the zone that TZ or the system names
    /// (localtime_r(3)).
    static let localOffset: LocalOffset = {
        tzset()
        return LocalOffset { instant in
            var seconds = time_t(instant.seconds)
            var local = tm()
            guard localtime_r(&seconds, &local) != nil else { return 0 }
            return Int64(local.tm_gmtoff)
        }
    }()

    /// The wall clock's time.
    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
