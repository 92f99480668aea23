/// The settings of a session: the options of `sync`, with their defaults.
public struct Configuration: Sendable {
    /// The greatest number of transfers at once.
    public var jobs = 128
    /// The greatest number of transfers at once to one host.
    ///
    /// `nil`: mirror measures each host to find its number, up to 32 connections or 100 HTTP/2
    /// streams.
    public var perHost: Int?
    /// The number of connections for one large file. `nil` means as many as raise the rate.
    public var segments: Int?
    /// The rules for retries, waits, stalls and sizes.
    public var transfer = TransferPolicy()
    /// The most bytes a second over all transfers, which may differ by time of day.
    ///
    /// `nil` means no limit.
    public var limitRate: RateLimit?
    /// The number of received bytes after which a run ends. `nil` means no limit.
    public var maxTransfer: Int64?
    /// Whether mirror uses a connection only if its address is public.
    public var publicOnly = false
    /// The path of a PEM file whose certificates mirror trusts instead of the system's.
    public var cacert: String?
    /// The paths of PEM files with the client certificates that origins get. No other origin gets
    /// them, also after redirects.
    public var cert: [Origin: String] = [:]
    /// The paths of PEM files with the keys of client certificates. An origin without one has its
    /// key in the file of `cert`.
    public var key: [Origin: String] = [:]
    /// The path of a netrc file. `nil` means that mirror reads no such file.
    public var netrcFile: String?
    /// Places that may have pinned files by their sha256, asked before the files' sources.
    ///
    /// A place is the path of a folder with `cas/<sha256>` or of another root, or an http(s) URL
    /// below which a server answers `cas/<sha256>`. mirror verifies their bytes like all others.
    public var store: [String] = []
    /// The URL of an S3 server other than Amazon's. `nil` means what the environment or the files of
    /// the AWS tools say.
    public var s3Endpoint: String?
    /// The region of S3 buckets. `nil` means what the environment or these files say.
    public var s3Region: String?
    /// The http(s) or s3 URL of a store that gets the files that runs fetch, where it lacks them.
    public var storePush: String?
    /// Rules `FROM=TO` of two http(s) URLs: a URL that begins with FROM is asked at TO and its rest
    /// first, and at FROM if that fails. TO gets no credentials of FROM.
    public var rewrite: [String] = []
    /// The part of all targets that this process has, such as `3/8`, if several work in one root.
    ///
    /// Each has a lock and an index of its own, and its share of rates, budgets and quotas. `nil`
    /// means all targets.
    public var shard: String?
    /// The number of bytes that must stay free on each file system.
    public var minFree: Int64 = 64 << 20
    /// The treatment of untracked or edited files at a target.
    public var onConflict = ConflictPolicy.rename

    /// The defaults.
    public init() {}
}

/// The ranges that the numbers of a configuration or of options must be in.
///
/// The command checks its options against the same ranges. So only a program that uses the library
/// can pass a number outside them.
extension Configuration {
    /// The range for numbers of connections and transfers at once.
    ///
    /// Memory and descriptors run out far below its upper bound.
    package static let counts = 1...(1 << 20)
    /// The range for the length of a wait, in seconds.
    static let seconds: ClosedRange<Int64> = 0...DurationText.longest
    /// The range for numbers of bytes, and for spans in seconds that may reach beyond every clock.
    static let natural: ClosedRange<Int64> = 0...Int64.max

    /// Throws `MirrorError` with `usage` if the number is not nil and out of its range.
    static func check<Number: FixedWidthInteger>(
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
    /// Checks that each number is in its range. A session calls this when it is made.
    ///
    /// Throws `MirrorError` with `usage`. The message names the property and the range.
    public func validate() throws(MirrorError) {
        try Configuration.check("jobs", jobs, Configuration.counts)
        try Configuration.check("perHost", perHost, Configuration.counts)
        try Configuration.check("segments", segments, Configuration.counts)
        try Configuration.check("transfer.retries", transfer.retries, 0...Int(Int32.max))
        try Configuration.check(
            "transfer.maxWait", transfer.maxWait.wholeSeconds, Configuration.seconds)
        try Configuration.check(
            "transfer.stallTimeout", transfer.stallTimeout.wholeSeconds, 1...DurationText.longest)
        // libcurl counts milliseconds in an int.
        try Configuration.check(
            "transfer.connectTimeout", transfer.connectTimeout.wholeSeconds,
            1...Int64(Int32.max / 1000))
        try Configuration.check("transfer.maxSize", transfer.maxSize, Configuration.natural)
        try Configuration.check("limitRate", limitRate?.rateElsewhere, Configuration.natural)
        try Configuration.check("maxTransfer", maxTransfer, Configuration.natural)
        try Configuration.check("minFree", minFree, Configuration.natural)
        _ = try substitutes()
        if let shard { _ = try Shard(shard) }
        if let storePush, try Store(storePush).url == nil {
            throw MirrorError(
                .usage, "\(Quoted(storePush)): files are put into a store by its http(s) URL.")
        }
    }

    /// The places of `store` and `rewrite`. Throws `MirrorError` with `usage`.
    func substitutes() throws(MirrorError) -> Substitutes {
        try Substitutes(stores: store, rewrites: rewrite)
    }
}

extension TransferPermission {
    /// Throws `MirrorError` with `usage` if the budget is below 0 bytes.
    func validate() throws(MirrorError) {
        try Configuration.check("permission.budget.bytes", budget?.bytes, Configuration.natural)
    }
}

extension DeleteLimit {
    /// Throws `MirrorError` with `usage` if the number is below 0 or the percentage not 0 to 100.
    func validate() throws(MirrorError) {
        switch self {
        case .count(let most): try Configuration.check("maxDelete", most, 0...Int.max)
        case .percent(let share): try Configuration.check("maxDelete", share, 0...100)
        case .whenOmitted: break
        }
    }
}

/// The version of the command and of the library. No other place in the code states it.
package enum MirrorVersion {
    /// The current version, by the rules of Semantic Versioning, e.g. `0.2.0`.
    package static let current = "0.2.0"
}

/// How many files a run may remove. A run with more removals is taken for a mistake, and refused.
public enum DeleteLimit: Sendable, Hashable {
    /// At most this number.
    case count(Int)
    /// At most this percentage of the files that the manifest owns.
    case percent(Int)
    /// The default: at most half of the owned files, or all of them if they are ten or fewer.
    ///
    /// A manifest without resources may remove no file.
    case whenOmitted

    /// Reads `10` or `25%`. Returns nil for any other text.
    public init?(text: String) {
        let isPercentage = text.hasSuffix("%")
        let digits = isPercentage ? text.dropLast() : text[...]
        guard digits.utf8.allSatisfy({ (0x30...0x39) ~= $0 }), let number = Int(digits),
            !isPercentage || number <= 100
        else { return nil }
        self = isPercentage ? .percent(number) : .count(number)
    }

    /// Whether removing `removals` of the `owned` files of a manifest is allowed.
    public func allows(removals: Int, owned: Int, resources: Int) -> Bool {
        guard removals > 0 else { return true }
        switch self {
        case .count(let most): return removals <= most
        case .percent(let share):
            // Products of 128 bits: exact at every size.
            let (removed, allowed) = (
                removals.multipliedFullWidth(by: 100), owned.multipliedFullWidth(by: share)
            )
            return (removed.high, removed.low) <= (allowed.high, allowed.low)
        case .whenOmitted:
            if resources == 0 { return false }
            return owned <= 10 || removals <= owned / 2
        }
    }
}
