/// How many body bytes may arrive in a day, a week or a month of local time, e.g. `10GiB/month`.
package struct TransferBudget: Sendable, Hashable, CustomStringConvertible {
    /// The time after which a budget is available in full again.
    enum Period: String, Sendable, Hashable, CaseIterable {
        /// From midnight.
        case day
        /// From Monday.
        case week
        /// From the first of the month.
        case month
    }

    /// The greatest number of bytes in one period.
    let bytes: Int64
    /// The period.
    let period: Period

    /// Takes bytes and a period.
    init(bytes: Int64, period: Period) {
        self.bytes = bytes
        self.period = period
    }

    /// Reads `10GiB/month`, with `day`, `week` or `month`. Returns nil for any other text.
    package init?(text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let bytes = ByteCount(text: String(parts[0]))?.bytes,
            let period = Period(rawValue: String(parts[1]))
        else { return nil }
        self.init(bytes: bytes, period: period)
    }

    /// The budget as a text that `init(text:)` reads.
    package var description: String { "\(bytes)/\(period.rawValue)" }

    /// The budget of one of the processes that share the work.
    func share(of shard: Shard) -> TransferBudget {
        TransferBudget(bytes: shard.share(of: bytes), period: period)
    }

    /// Returns the beginning of the period that contains an instant.
    func start(at now: Instant, _ offset: LocalOffset) -> Instant {
        offset.instant(of: first(of: offset.civil(now)))
    }

    /// Returns the beginning of the next period.
    func renewal(after now: Instant, _ offset: LocalOffset) -> Instant {
        let first = first(of: offset.civil(now))
        // The first day of a period plus its greatest length lies in the next period.
        let days: Int64 =
            switch period {
            case .day: 1
            case .week: 7
            case .month: 31
            }
        let next = CivilTime(Instant(seconds: first.seconds + days * 86400))
        return offset.instant(of: self.first(of: next))
    }

    /// The local midnight at which a period begins.
    private func first(of civil: CivilTime) -> CivilTime {
        var first = civil
        first.secondOfDay = 0
        switch period {
        case .day: return first
        case .week:
            return CivilTime(Instant(seconds: first.seconds - Int64(first.weekday) * 86400))
        case .month:
            first.day = 1
            return first
        }
    }
}

/// The bytes of a budget that were spent in one of its periods.
struct BudgetAccount: Sendable, Hashable {
    /// When the period began.
    var start: Instant
    /// Body bytes that have arrived since the period began.
    var spent: Int64

    /// Creates an account from a period's beginning and the bytes spent since.
    init(start: Instant, spent: Int64) { (self.start, self.spent) = (start, spent) }

    /// Returns the account at an instant. If another period has begun, nothing is spent.
    func current(
        _ budget: TransferBudget, at now: Instant, _ offset: LocalOffset
    ) -> BudgetAccount {
        let start = budget.start(at: now, offset)
        return start == self.start ? self : BudgetAccount(start: start, spent: 0)
    }
}

/// The greatest rate of all transfers together, in bytes a second, by time of day.
///
/// The text is one rate, `2MiB`, or rates by local time: `08:00-18:00 1MiB, otherwise 0`. Zero
/// means no limit. The first window that contains the time counts.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    private struct Rule: Hashable {
        let window: DailyWindow
        let rate: Int64
    }

    private var rules: [Rule] = []
    /// Bytes a second outside all windows. 0 means no limit.
    private var otherwise: Int64

    /// Creates one rate in bytes a second for the whole day. 0 means no limit.
    public init(_ rate: Int64) { otherwise = rate }

    /// Creates one rate in bytes a second for the whole day.
    public init(integerLiteral rate: Int64) { self.init(rate) }

    /// Reads a rate, or windows with a rate each and at most one `otherwise`.
    ///
    /// Returns nil for any other text. Without `otherwise`, there is no limit outside the windows.
    public init?(text: String) {
        if let rate = ByteCount(text: text) {
            self.init(rate.bytes)
            return
        }
        var rules: [Rule] = []
        var otherwise: Int64?
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.trimmingSpaces().split(separator: " ", maxSplits: 1)
            guard words.count == 2,
                let rate = ByteCount(text: String(words[1].trimmingSpaces()))?.bytes
            else { return nil }
            if words[0] == "otherwise" {
                guard otherwise == nil else { return nil }
                otherwise = rate
            } else {
                guard let window = DailyWindow(text: words[0]) else { return nil }
                rules.append(Rule(window: window, rate: rate))
            }
        }
        guard !rules.isEmpty else { return nil }
        self.init(otherwise ?? 0)
        self.rules = rules
    }

    /// Returns the rate in bytes a second at an instant. `nil` means no limit.
    func rate(at now: Instant, _ offset: LocalOffset) -> Int64? {
        if rules.isEmpty { return otherwise > 0 ? otherwise : nil }
        let minute = offset.minute(of: now)
        let rate = rules.first { $0.window.contains(minute: minute) }?.rate ?? otherwise
        return rate > 0 ? rate : nil
    }

    /// The limit of one of the processes that share the work.
    func share(of shard: Shard) -> RateLimit {
        var limit = self
        limit.rules = rules.map { Rule(window: $0.window, rate: shard.share(of: $0.rate)) }
        limit.otherwise = shard.share(of: otherwise)
        return limit
    }

    /// The given rate outside all windows, in bytes a second. 0 means no limit.
    var rateElsewhere: Int64 { otherwise }

    /// The least rate of any time of day, in bytes a second.
    /// `nil` means that there never is a limit.
    var least: Int64? { (rules.map(\.rate) + [otherwise]).filter { $0 > 0 }.min() }

    /// Whether the rate depends on the time of day.
    var changes: Bool { !rules.isEmpty }

    /// The limit as a text that `init(text:)` reads.
    public var description: String {
        if rules.isEmpty { return "\(otherwise)" }
        return (rules.map { "\($0.window) \($0.rate)" } + ["otherwise \(otherwise)"])
            .joined(separator: ", ")
    }
}
