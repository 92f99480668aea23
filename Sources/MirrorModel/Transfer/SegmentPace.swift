/// Over how many connections one file is fetched.
public enum SegmentLimit: Sendable, Hashable {
    /// As many as raise the rate.
    case automatic
    /// So many from the start; 1 is a single connection.
    case fixed(Int)
}

/// Decides how many connections a transfer should have, from what came over those it has.
///
/// By itself it begins with one. Once its rate is known, which takes a tenth of a second, it makes that
/// four, then doubles the number as long as that raises the rate by a quarter; the first step that does
/// not is taken back. As a line may have been slow in just that moment, one more step is tried some seconds later
/// and measured for longer. Where mirror itself holds bytes back (a rate limit, digests that are behind,
/// a pause, a processor that is busy with one connection) more cannot help, and nothing is concluded
/// from such a time, nor from one in which a new connection has brought nothing yet.
package struct SegmentPace: Sendable {
    /// How often it looks, in milliseconds.
    package static let look: Int64 = 50
    /// How long a rate is measured, in milliseconds.
    static let measuring: Int64 = 100
    /// How long it is measured the second time, and how long it then takes new connections to be fast.
    static let careful: Int64 = 1000
    /// After how many milliseconds a number that did not pay is tried again.
    static let pause: Int64 = 5000
    /// By what more connections must raise the rate.
    static let leastGain = 1.25
    /// The fewest missing bytes for which more connections are tried.
    static let leastMissing: Int64 = 8 << 20
    /// How long the missing bytes must take at the rate that there is, in seconds.
    static let leastSeconds = 1.0
    /// The most connections by measuring.
    static let most = 32

    private enum Phase: Sendable {
        case quick
        case resting(until: Int64)
        case careful
        case settled
    }

    private struct Window: Sendable {
        let begin: Int64
        let bytes: Int64?
        let count: Int
    }

    private let limit: SegmentLimit
    /// How many connections there should be.
    package private(set) var wanted: Int
    private var phase = Phase.quick
    /// When the time that is measured begins, and the bytes until then.
    private var window: Window?
    /// What the number before the last step brought.
    private var earlier: (count: Int, rate: Double)?

    /// Takes what was asked for.
    package init(_ limit: SegmentLimit) {
        self.limit = limit
        if case .fixed(let count) = limit { wanted = max(1, count) } else { wanted = 1 }
    }

    /// Whether there is nothing left to find out.
    package var isSettled: Bool {
        if case .settled = phase { true } else { limit != .automatic }
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
    package mutating func look(
        bytes: Int64, missing: Int64, running: Int, isHeldBack: Bool, now: Int64
    ) {
        guard limit == .automatic else { return }
        switch phase {
        case .settled: return
        case .resting(let until):
            guard now >= until else { return }
            phase = .careful
            (window, earlier) = (nil, nil)
        case .quick, .careful: break
        }
        guard !isHeldBack, let window, window.count == running else {
            window = Window(begin: now + settling, bytes: nil, count: running)
            return
        }
        guard now >= window.begin else { return }
        guard let before = window.bytes else {
            self.window = Window(begin: now, bytes: bytes, count: running)
            return
        }
        let elapsed = now - window.begin
        guard elapsed >= measuring else { return }
        let rate = Double(bytes - before) * 1000 / Double(elapsed)
        self.window = Window(begin: now, bytes: bytes, count: running)
        conclude(rate: rate, running: running, missing: missing, now: now)
    }

    private var measuring: Int64 {
        if case .careful = phase { SegmentPace.careful } else { SegmentPace.measuring }
    }

    private var settling: Int64 {
        if case .careful = phase { SegmentPace.careful / 2 } else { 0 }
    }

    private mutating func conclude(rate: Double, running: Int, missing: Int64, now: Int64) {
        if let earlier, running > earlier.count {
            // Fewer than twice as many, where places are short, need not bring as much.
            let share = Double(running - earlier.count) / Double(earlier.count)
            let gain = 1 + (SegmentPace.leastGain - 1) * min(1, share)
            guard rate >= earlier.rate * gain else {
                wanted = earlier.count
                if case .quick = phase {
                    phase = .resting(until: now + SegmentPace.pause)
                } else {
                    phase = .settled
                }
                return
            }
        }
        guard missing >= SegmentPace.leastMissing, running < SegmentPace.most,
            Double(missing) >= rate * SegmentPace.leastSeconds
        else { return }
        earlier = (running, rate)
        wanted = running <= 1 ? 4 : min(SegmentPace.most, running * 2)
    }
}
