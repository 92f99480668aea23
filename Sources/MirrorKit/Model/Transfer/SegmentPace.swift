/// Decides how many connections a transfer should have, from the rate of the present ones.
///
/// A transfer in automatic mode begins with one connection. After a tenth of a second the rate is
/// known, and the transfer wants four. Then the number doubles as long as each step raises the rate
/// by a quarter. The first step that does not is taken back.
///
/// If the first answer took longer than that tenth, the transfer wants eight at once. A new
/// connection then brings nothing for as long again, and on a long line one connection is slow at
/// first.
///
/// A line may have been slow at just the moment of the last step. So the step is tried once more
/// some seconds later and measured for longer.
///
/// More connections cannot help where mirror itself holds bytes back: by a rate limit, digests that
/// are behind, a pause, or a busy processor. Such a time proves nothing, and neither does a time in
/// which a new connection has brought nothing yet.
struct SegmentPace: Sendable {
    /// The time between two looks at the rate, in milliseconds.
    static let look: Int64 = 50
    /// How long the rate is measured while the steps are quick, in milliseconds.
    static let measuring: Int64 = 100
    /// How long the rate is measured for the second try of a step, in milliseconds.
    ///
    /// Before this measurement, new connections get half as long to become fast.
    static let careful: Int64 = 1000
    /// After how many milliseconds a step that did not pay is tried again.
    static let pause: Int64 = 5000
    /// The factor by which a step must raise the rate.
    static let leastGain = 1.25
    /// The fewest missing bytes for which more connections are tried.
    static let leastMissing: Int64 = 8 << 20
    /// How long the missing bytes must at least take at the present rate, in seconds.
    static let leastSeconds = 1.0
    /// The number of connections after the first step.
    static let firstStep = 4
    /// The most connections that measurement may lead to. More of them would take a server's places
    /// from others.
    static let most = 16

    private enum Phase: Sendable {
        case quick
        case resting(until: Int64)
        case careful
        case settled
    }

    /// The fixed number of connections; nil in automatic mode.
    private let limit: Int?
    /// How many connections there should be.
    private(set) var wanted: Int
    private var phase = Phase.quick
    /// The measured time: its beginning, the bytes received until then, and its connections.
    ///
    /// `bytes` is nil until the new connections have had time to become fast.
    private var window: (begin: Int64, bytes: Int64?, count: Int)?
    /// The number of connections before the last step, and their rate.
    private var earlier: (count: Int, rate: Double)?

    /// Starts with a fixed number of connections; nil means automatic mode.
    init(_ limit: Int?) {
        self.limit = limit
        wanted = max(1, limit ?? 1)
    }

    /// Notes the first answer; in automatic mode a slow one raises the wanted number to eight.
    ///
    /// - Parameters:
    ///   - time: milliseconds from the request's start until its answer.
    ///   - missing: bytes that are missing.
    mutating func answered(after time: Int64, missing: Int64) {
        guard limit == nil, wanted == 1, window == nil, case .quick = phase,
            time >= SegmentPace.measuring, missing >= SegmentPace.leastMissing
        else { return }
        wanted = HostPace.start
    }

    /// Whether `wanted` is final.
    var isSettled: Bool {
        if case .settled = phase { true } else { limit != nil }
    }

    /// Evaluates the bytes received so far, and may change `wanted`.
    ///
    /// - Parameters:
    ///   - bytes: all bytes of the transfer received so far.
    ///   - missing: bytes that are missing.
    ///   - running: the present number of connections.
    ///   - isHeldBack: whether mirror asked for fewer bytes than it could have had, or could
    ///     process no more.
    ///   - now: milliseconds.
    mutating func look(
        bytes: Int64, missing: Int64, running: Int, isHeldBack: Bool, now: Int64
    ) {
        guard limit == nil else { return }
        switch phase {
        case .settled: return
        case .resting(let until):
            guard now >= until else { return }
            phase = .careful
            (window, earlier) = (nil, nil)
        case .quick, .careful: break
        }
        guard !isHeldBack, let window, window.count == running else {
            window = (begin: now + settling, bytes: nil, count: running)
            return
        }
        guard now >= window.begin else { return }
        guard let before = window.bytes else {
            self.window = (begin: now, bytes: bytes, count: running)
            return
        }
        let elapsed = now - window.begin
        guard elapsed >= measuring else { return }
        let rate = Double(bytes - before) * 1000 / Double(elapsed)
        self.window = (begin: now, bytes: bytes, count: running)
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
            // If places are short, a step may less than double the number. Then it need not gain as
            // much.
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
        wanted = running <= 1 ? SegmentPace.firstStep : min(SegmentPace.most, running * 2)
    }
}
