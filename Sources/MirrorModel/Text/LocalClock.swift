/// Instants as people read them: the local time of day, and the distance from now.
///
/// An instant of today shows the time of day alone; others have the date before it. Text for
/// scripts is in UTC and does not use this type.
public struct LocalClock: Sendable {
    /// The instant that counts as now.
    public let now: Instant
    private let offset: LocalOffset

    /// Takes now, and by how much local time is ahead of UTC.
    public init(now: Instant, offset: LocalOffset) {
        self.now = now
        self.offset = offset
    }

    /// `12:03, 2 h ago` for a time in the past, `12:03, in 15 min` for one in the future.
    public func description(of instant: Instant) -> String {
        let seconds = now.seconds(since: instant)
        let distance = DurationText(seconds: abs(seconds)).description
        return "\(time(of: instant)), "
            + (instant > now ? "in \(distance)" : "\(distance) ago")
    }

    /// `12:03`, or `2026-11-20 12:03` on a day other than today.
    public func time(of instant: Instant) -> String {
        let (then, today) = (offset.civil(instant), offset.civil(now))
        let time = "\(padded(then.time.hour, 2)):\(padded(then.time.minute, 2))"
        let isToday = (then.year, then.month, then.day) == (today.year, today.month, today.day)
        return isToday ? time : "\(then.date) \(time)"
    }

    /// `2026-11-20 12:03`, also for today: what is still right when it is read on another day.
    public func dateAndTime(of instant: Instant) -> String {
        let then = offset.civil(instant)
        return "\(then.date) \(padded(then.time.hour, 2)):\(padded(then.time.minute, 2))"
    }

    /// The zone of all these times now: `UTC`, `UTC+05:30`, `UTC-03:00`.
    public var zone: String {
        let minutes = (offset.civil(now).seconds - now.seconds) / 60
        if minutes == 0 { return "UTC" }
        let sign = minutes < 0 ? "-" : "+"
        return "UTC\(sign)\(padded(abs(minutes) / 60, 2)):\(padded(abs(minutes) % 60, 2))"
    }
}

extension Reason {
    /// The sentence that gives the reason, with times as people read them.
    public func because(on clock: LocalClock) -> String {
        switch self {
        case .fresh(let until): "fresh until \(clock.description(of: until))"
        case .deferred(let deferral): deferral.because(clock.description(of:))
        default: because
        }
    }
}

extension SetObstacle {
    /// The sentence that says why, with times as people read them.
    public func because(on clock: LocalClock) -> String { because(clock.description(of:)) }
}
