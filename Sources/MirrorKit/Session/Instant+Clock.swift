public import MirrorModel
internal import MirrorSystem

extension Instant {
    /// The wall clock's time (clock_gettime(2), CLOCK_REALTIME), by which freshness is judged.
    public static var now: Instant { SystemClock.now() }
}

extension LocalClock {
    /// The clock of this process: a time, in the zone that TZ or the system names (localtime_r(3)).
    public static func ofThisProcess(now: Instant) -> LocalClock {
        LocalClock(now: now, offset: SystemClock.localOffset)
    }
}
