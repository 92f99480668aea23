/// How many body bytes may arrive in a day, a week or a month of local time, as `10GiB/month`.
public struct TransferBudget: Sendable, Hashable, CustomStringConvertible {
    /// The time after which a budget is available in full again.
    public enum Period: String, Sendable, Hashable, CaseIterable {
        /// From midnight.
        case day
        /// From Monday.
        case week
        /// From the first of the month.
        case month
    }

    /// The greatest number of bytes in one period.
    public let bytes: Int64
    /// The period.
    public let period: Period

    /// Takes bytes and a period.
    public init(bytes: Int64, period: Period) {
        self.bytes = bytes
        self.period = period
    }

    /// Reads `10GiB/month`, with `day`, `week` or `month`; nil for anything else.
    public init?(text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let bytes = ByteCount(text: String(parts[0]))?.bytes,
            let period = Period(rawValue: String(parts[1]))
        else { return nil }
        self.init(bytes: bytes, period: period)
    }

    /// The budget as it is read.
    public var description: String { "\(bytes)/\(period.rawValue)" }

    /// When the period began that an instant lies in.
    package func start(at now: Instant, _ offset: LocalOffset) -> Instant {
        offset.instant(of: first(of: offset.civil(now)))
    }

    /// When the next period begins.
    package func renewal(after now: Instant, _ offset: LocalOffset) -> Instant {
        let first = first(of: offset.civil(now))
        // The day after the greatest length of a period lies in the next one.
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

/// What has been spent of a budget in one of its periods.
public struct BudgetAccount: Sendable, Hashable {
    /// When the period began.
    public var start: Instant
    /// Body bytes that have arrived since.
    public var spent: Int64

    /// Takes a period's beginning and what was spent since.
    public init(start: Instant, spent: Int64) { (self.start, self.spent) = (start, spent) }

    /// The account for a budget at an instant: another period begins with nothing spent.
    package func current(
        _ budget: TransferBudget, at now: Instant, _ offset: LocalOffset
    ) -> BudgetAccount {
        let start = budget.start(at: now, offset)
        return start == self.start ? self : BudgetAccount(start: start, spent: 0)
    }
}

/// How many bytes a second all transfers together may bring, at each time of day.
///
/// One rate, `2MiB`, or rates by local time: `08:00-18:00 1MiB, otherwise 0`. Zero is no limit. The
/// first window that contains the time counts.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    private struct Rule: Hashable {
        let window: DailyWindow
        let rate: Int64
    }

    private var rules: [Rule] = []
    /// Bytes a second outside all windows; 0 is no limit.
    private var otherwise: Int64

    /// One rate in bytes a second for the whole day; 0 is no limit.
    public init(_ rate: Int64) { otherwise = rate }

    /// One rate in bytes a second for the whole day.
    public init(integerLiteral rate: Int64) { self.init(rate) }

    /// Reads a rate, or windows with a rate each and at most one `otherwise`; nil for anything else.
    ///
    /// Without `otherwise`, there is no limit outside the windows.
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

    /// Bytes a second at an instant; nil is no limit.
    package func rate(at now: Instant, _ offset: LocalOffset) -> Int64? {
        if rules.isEmpty { return otherwise > 0 ? otherwise : nil }
        let minute = offset.minute(of: now)
        let rate = rules.first { $0.window.contains(minute: minute) }?.rate ?? otherwise
        return rate > 0 ? rate : nil
    }

    /// The rate outside all windows, as it was given.
    var rateElsewhere: Int64 { otherwise }

    /// The least rate of any time of day; nil where there never is a limit.
    package var least: Int64? { (rules.map(\.rate) + [otherwise]).filter { $0 > 0 }.min() }

    /// Whether the rate is another one at another time of day.
    package var changes: Bool { !rules.isEmpty }

    /// The limit as it is read.
    public var description: String {
        if rules.isEmpty { return "\(otherwise)" }
        return (rules.map { "\($0.window) \($0.rate)" } + ["otherwise \(otherwise)"])
            .joined(separator: ", ")
    }
}
