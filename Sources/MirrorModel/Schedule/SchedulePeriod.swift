/// How often a schedule starts a sync, in the notations of systemd.time(7) and crontab(5).
package struct SchedulePeriod: Sendable, Hashable {
    /// The length in seconds.
    package let seconds: Int64

    /// Takes a length; nil below a minute, which is the finest that a timer is asked for.
    package init?(seconds: Int64) {
        guard seconds >= 60 else { return nil }
        self.seconds = seconds
    }

    /// The calendar expression with this period, the same every day or week; nil if there is none.
    ///
    /// systemd makes up for a missed run only if a calendar expresses the period (systemd.timer(5),
    /// Persistent).
    package var calendar: String? {
        switch shape {
        case .minutes(1): "*-*-* *:*:00"
        case .minutes(let minutes): "*-*-* *:00/\(minutes):00"
        case .hours(1): "*-*-* *:00:00"
        case .hours(let hours): "*-*-* 00/\(hours):00:00"
        case .day: "*-*-* 00:00:00"
        case .week: "Mon *-*-* 00:00:00"
        case nil: nil
        }
    }

    /// The first five fields of a crontab line; nil where cron has no such period.
    ///
    /// - Parameter offset: any number, which chooses the moment within the period, so that devices do
    ///   not all begin at the same one.
    package func cron(offset: UInt64) -> String? {
        let minute = offset % 60
        return switch shape {
        case .minutes(1): "* * * * *"
        case .minutes(let minutes): "\(offset % UInt64(minutes))-59/\(minutes) * * * *"
        case .hours(1): "\(minute) * * * *"
        case .hours(let hours): "\(minute) \(offset / 60 % UInt64(hours))-23/\(hours) * * *"
        case .day: "\(minute) \(offset / 60 % 24) * * *"
        case .week: "\(minute) \(offset / 60 % 24) * * \(offset / 1440 % 7)"
        case nil: nil
        }
    }

    /// The period as an option's value: `90m`, `6h`, `1d`.
    package var spelling: String {
        if seconds % 86400 == 0 { return "\(seconds / 86400)d" }
        if seconds % 3600 == 0 { return "\(seconds / 3600)h" }
        return seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds)s"
    }

    /// The nearest period that a calendar expresses.
    package var nearest: SchedulePeriod {
        let known = SchedulePeriod.expressible.min { abs($0 - seconds) < abs($1 - seconds) }
        return SchedulePeriod(seconds: known ?? 86400) ?? self
    }

    /// The default of the greatest random delay, in seconds: a tenth of the period, an hour at
    /// most.
    package var usualJitter: Int64 { min(seconds / 10, 3600) }

    private enum Shape { case minutes(Int64), hours(Int64), day, week }

    private var shape: Shape? {
        if seconds == 604_800 { return .week }
        if seconds == 86400 { return .day }
        if seconds % 3600 == 0, 24 % (seconds / 3600) == 0 { return .hours(seconds / 3600) }
        if seconds % 60 == 0, seconds < 3600, 60 % (seconds / 60) == 0 {
            return .minutes(seconds / 60)
        }
        return nil
    }

    private static let expressible: [Int64] =
        (1..<60).filter { 60 % $0 == 0 }.map { $0 * 60 }
        + (1...24).filter { 24 % $0 == 0 }.map { $0 * 3600 } + [604_800]
}
