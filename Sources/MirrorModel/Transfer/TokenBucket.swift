/// One budget of bytes a second for all transfers together.
///
/// It may be overdrawn, because received bytes cannot be sent back. The loop then reads from no
/// socket until the debt is paid, so the senders notice it through TCP, and no bytes pile up in
/// memory.
struct TokenBucket: Sendable {
    private let rate: Int64
    private var level: Double
    private var filledAt: Int64

    /// - Parameters:
    ///   - rate: bytes a second, greater than 0.
    ///   - now: milliseconds.
    init(rate: Int64, now: Int64) {
        self.rate = max(1, rate)
        level = Double(self.rate) / 10
        filledAt = now
    }

    /// Takes bytes that arrived.
    mutating func take(_ bytes: Int) { level -= Double(bytes) }

    /// Whether there is a debt, as of the last look at the clock.
    var isOverdrawn: Bool { level < 0 }

    /// For how many milliseconds no socket may be read; 0 while there is no debt.
    mutating func delay(now: Int64) -> Int64 {
        let gained = Double(max(0, now - filledAt)) * Double(rate) / 1000
        level = min(level + gained, Double(rate) / 10)
        filledAt = now
        return level >= 0 ? 0 : Int64((-level * 1000 / Double(rate)).rounded(.up))
    }
}
