/// The settings of a session: the options of `sync`, with their defaults.
public struct Configuration: Sendable {
    /// The greatest number of transfers at once.
    public var jobs = 128
    /// The greatest number of transfers at once to one host.
    ///
    /// Nil finds the number for each host by measuring: up to 64 connections, or 100 streams of
    /// HTTP/2.
    public var perHost: Int?
    /// Connections for one large file; nil makes as many as raise the rate.
    public var segments: Int?
    /// The rules for retries, waits, stalls and sizes.
    public var transfer = TransferPolicy()
    /// Bytes a second over all transfers, which may differ by time of day; nil means no limit.
    public var rateLimit: RateLimit?
    /// The number of received bytes after which a run ends; nil means no limit.
    public var transferLimit: Int64?
    /// Whether mirror uses a connection only if its address is public.
    public var publicAddressesOnly = false
    /// Certificates to trust instead of the system's: a PEM file's path.
    public var certificateAuthorities: String?
    /// A netrc file's path; nil reads none.
    public var netrc: String?
    /// The number of bytes that must stay free on each file system.
    public var leastFreeSpace: Int64 = 64 << 20
    /// The treatment of untracked or edited files at a target.
    public var onConflict = ConflictPolicy.rename

    /// The defaults.
    public init() {}
}

/// The ranges that the numbers of a configuration or of options must be in.
///
/// The options of the command are read into the same ranges, so only a program's numbers can be
/// outside them.
extension Configuration {
    /// Numbers of things that a run has at once: memory and descriptors end far below.
    package static let counts = 1...(1 << 20)
    /// Seconds of a wait.
    package static let seconds: ClosedRange<Int64> = 0...DurationText.longest
    /// Numbers of bytes, and moments that may lie beyond every clock.
    package static let natural: ClosedRange<Int64> = 0...Int64.max

    /// Throws `MirrorError` with `usage` for a number that is there and out of its range.
    package static func check<Number: FixedWidthInteger>(
        _ name: String, _ number: Number?, _ range: ClosedRange<Number>
    ) throws(MirrorError) {
        guard let number, !range.contains(number) else { return }
        throw MirrorError(
            .usage,
            number < range.lowerBound
                ? "\(name) is \(number); \(range.lowerBound) is the least."
                : "\(name) is \(number); \(range.upperBound) is the most.")
    }
}

extension Configuration {
    /// Refuses a number that is out of its range; a session does so when it is made.
    ///
    /// Throws `MirrorError` with `usage`, which names the property and the range.
    public func validate() throws(MirrorError) {
        try Configuration.check("jobs", jobs, Configuration.counts)
        try Configuration.check("perHost", perHost, Configuration.counts)
        try Configuration.check("segments", segments, Configuration.counts)
        try Configuration.check("transfer.retries", transfer.retries, 0...Int(Int32.max))
        try Configuration.check("transfer.longestWait", transfer.longestWait, Configuration.seconds)
        try Configuration.check(
            "transfer.stallTimeout", transfer.stallTimeout, 1...DurationText.longest)
        // libcurl counts milliseconds in an int.
        try Configuration.check(
            "transfer.connectTimeout", transfer.connectTimeout, 1...Int64(Int32.max / 1000))
        try Configuration.check("transfer.sizeLimit", transfer.sizeLimit, Configuration.natural)
        try Configuration.check("rateLimit", rateLimit?.rateElsewhere, Configuration.natural)
        try Configuration.check("transferLimit", transferLimit, Configuration.natural)
        try Configuration.check("leastFreeSpace", leastFreeSpace, Configuration.natural)
    }
}

extension TransferPermission {
    /// Throws `MirrorError` with `usage` for a budget of less than nothing.
    package func validate() throws(MirrorError) {
        try Configuration.check("permission.budget.bytes", budget?.bytes, Configuration.natural)
    }
}

extension DeleteLimit {
    /// Throws `MirrorError` with `usage` for a number below 0, and for a share of more than the whole.
    package func validate() throws(MirrorError) {
        switch self {
        case .count(let most): try Configuration.check("deleteLimit", most, 0...Int.max)
        case .percent(let share): try Configuration.check("deleteLimit", share, 0...100)
        case .whenOmitted: break
        }
    }
}

/// The version of mirror, the command and the library: the only place that states it.
public enum MirrorVersion {
    /// By the rules of Semantic Versioning, e.g. `0.2.0`.
    public static let current = "0.2.0"
}
