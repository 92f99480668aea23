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
