/// Over how many connections one file is fetched.
public enum SegmentLimit: Sendable, Hashable {
    /// As many as raise the rate.
    case automatic
    /// So many from the start; 1 is a single connection.
    case fixed(Int)
}

/// Decides how many connections a transfer should have, from what came over those it has.
///
/// By itself it begins with one. Once its rate is known, it doubles the number as long as that
/// raises the rate by a quarter; the first doubling that does not is taken back, and that is the end
/// of it. Where mirror itself holds bytes back (a rate limit, digests that are behind, a pause, a
/// processor that is busy with one connection) more cannot help, and nothing is concluded from such a
/// time.
public struct SegmentPace: Sendable {
    /// How long new connections get to reach their rate, in milliseconds.
    static let settling: Int64 = 500
    /// How long a rate is measured, in milliseconds.
    static let measuring: Int64 = 1000
    /// By what more connections must raise the rate.
    static let leastGain = 1.25
    /// The fewest missing bytes for which more connections are tried.
    static let leastMissing: Int64 = 8 << 20
    /// How long the missing bytes must take at the rate that there is, in seconds.
    static let leastSeconds = 2.0

    private let limit: SegmentLimit
    /// How many connections there should be.
    public private(set) var wanted: Int
    private var isSettled = false
    /// When the time that is measured begins, and the bytes until then.
    private var window: (begin: Int64, bytes: Int64?, count: Int)?
    /// What the number before the last doubling brought.
    private var earlier: (count: Int, rate: Double)?

    /// Takes what was asked for.
    public init(_ limit: SegmentLimit) {
        self.limit = limit
        if case .fixed(let count) = limit { wanted = max(1, count) } else { wanted = 1 }
    }

    /// Looks at what came so far.
    ///
    /// - Parameters:
    ///   - bytes: all bytes of the transfer that came so far.
    ///   - missing: bytes that are missing.
    ///   - running: connections that there are.
    ///   - isHeldBack: whether mirror asked for fewer bytes than it could have had, or could take
    ///     no more.
    ///   - now: milliseconds.
    public mutating func look(
        bytes: Int64, missing: Int64, running: Int, isHeldBack: Bool, now: Int64
    ) {
        guard limit == .automatic, !isSettled else { return }
        guard !isHeldBack, let window, window.count == running else {
            window = (now + SegmentPace.settling, nil, running)
            return
        }
        guard now >= window.begin else { return }
        guard let before = window.bytes else {
            self.window = (now, bytes, running)
            return
        }
        let elapsed = now - window.begin
        guard elapsed >= SegmentPace.measuring else { return }
        let rate = Double(bytes - before) * 1000 / Double(elapsed)
        self.window = (now, bytes, running)
        conclude(rate: rate, running: running, missing: missing)
    }

    private mutating func conclude(rate: Double, running: Int, missing: Int64) {
        if let earlier, running > earlier.count {
            // Fewer than twice as many, where places are short, need not bring as much.
            let share = Double(running - earlier.count) / Double(earlier.count)
            let gain = 1 + (SegmentPace.leastGain - 1) * min(1, share)
            guard rate >= earlier.rate * gain else {
                wanted = earlier.count
                isSettled = true
                return
            }
        }
        guard missing >= SegmentPace.leastMissing,
            Double(missing) >= rate * SegmentPace.leastSeconds
        else { return }
        earlier = (running, rate)
        wanted = max(1, running) * 2
    }
}
