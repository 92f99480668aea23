/// A point of wall-clock time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Decisions take it as a value; nothing in this module reads a clock.
public struct Instant: Sendable, Hashable, Comparable {
    /// Milliseconds since the Unix epoch; negative before it.
    public let milliseconds: Int64

    /// Takes milliseconds since the Unix epoch.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Takes seconds since the Unix epoch, clamped to the range of milliseconds.
    public init(seconds: Int64) {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        milliseconds = overflow ? (seconds < 0 ? .min : .max) : value
    }

    /// Whole seconds since the Unix epoch, rounded down.
    public var seconds: Int64 {
        milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
    }

    /// Whether the left instant is earlier.
    public static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The instant `seconds` later, clamped at the ends.
    public func advanced(bySeconds seconds: Int64) -> Instant {
        let (product, tooFar) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, overflow) = milliseconds.addingReportingOverflow(product)
        if tooFar || overflow { return Instant(milliseconds: seconds < 0 ? .min : .max) }
        return Instant(milliseconds: sum)
    }

    /// Seconds from another instant to this one, rounded toward zero.
    ///
    /// Negative when this instant is earlier.
    public func seconds(since other: Instant) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(other.milliseconds)
        if overflow { return milliseconds > other.milliseconds ? .max / 1000 : .min / 1000 }
        return difference / 1000
    }
}
