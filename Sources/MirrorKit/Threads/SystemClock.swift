internal import CLinux
internal import Glibc
internal import MirrorModel

/// The clocks that a loop goes by: the system's, or those of a simulation.
struct LoopClock: Sendable {
    /// Milliseconds that only ever grow.
    var monotonic: @Sendable () -> Int64 = SystemClock.monotonic
    /// Milliseconds of processor time that the calling thread has had.
    var threadBusy: @Sendable () -> Int64 = SystemClock.threadBusy
    /// The wall clock's time.
    var now: @Sendable () -> Instant = SystemClock.now
}

/// The clocks of the system; decisions get their readings as values.
enum SystemClock {
    /// Milliseconds that only ever grow, sleep included (CLOCK_BOOTTIME).
    static func monotonic() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Milliseconds of processor time that the calling thread has had.
    static func threadBusy() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The wall clock's time.
    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
