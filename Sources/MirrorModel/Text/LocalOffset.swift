/// By how many seconds local time is ahead of UTC, at any instant.
public struct LocalOffset: Sendable {
    private let seconds: @Sendable (Instant) -> Int64

    /// Takes the seconds by which local time is ahead of UTC at an instant.
    public init(_ seconds: @escaping @Sendable (Instant) -> Int64) { self.seconds = seconds }

    /// Local time is UTC.
    public static let utc = LocalOffset { _ in 0 }

    /// The local date and time of an instant.
    package func civil(_ instant: Instant) -> CivilTime {
        CivilTime(instant.advanced(bySeconds: seconds(instant)))
    }

    /// The minute of the local day, 0 … 1439.
    package func minute(of instant: Instant) -> Int { Int(civil(instant).secondOfDay / 60) }

    /// The instant at which a local date and time comes.
    ///
    /// A time that a change of the clocks leaves out is the one an hour later.
    package func instant(of civil: CivilTime) -> Instant {
        let local = Instant(seconds: civil.seconds)
        // The offset is that of the instant, which is not known before the offset is.
        let near = local.advanced(bySeconds: -seconds(local))
        return local.advanced(bySeconds: -seconds(near))
    }

    /// The first instant after another at which the local day has come so many minutes far.
    ///
    /// - Parameter minute: minutes since midnight, 0 … 1440.
    package func next(minute: Int, after instant: Instant) -> Instant {
        var day = civil(instant)
        day.secondOfDay = 0
        let midnight = day.seconds
        for days in Int64(0)...2 {
            let seconds = midnight + days * 86400 + Int64(minute) * 60
            let candidate = self.instant(of: CivilTime(Instant(seconds: seconds)))
            if candidate > instant { return candidate }
        }
        return instant.advanced(bySeconds: 86400)
    }
}
