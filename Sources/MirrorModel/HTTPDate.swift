/// A date as HTTP writes it, in whole seconds (RFC 9110 §5.6.7).
public struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public let seconds: Int64

    /// Takes seconds since the Unix epoch.
    public init(seconds: Int64) { self.seconds = seconds }

    /// Whether the left date is earlier.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }
}
