/// Limits on reading: a rate for all transfers together, and a total for the run.
struct ReadingLimits: Sendable {
    /// For how many milliseconds the loop reads no socket while workers are behind.
    static let breath: Int64 = 2

    /// Whether more connections would bring no more bytes.
    ///
    /// mirror held bytes back lately, or they came as fast as mirror can process them.
    var wasHeldBack = false
    /// The number of body bytes received.
    private(set) var bytesReceived: Int64 = 0
    private let total: Int64?
    /// Bytes a second for all transfers together. `nil` means no limit.
    private(set) var rate: Int64?
    private var bucket: TokenBucket?

    /// - Parameters:
    ///   - rate: bytes a second for all transfers together; nil for no limit.
    ///   - total: bytes in this run; nil for no limit.
    ///   - now: milliseconds.
    init(rate: Int64?, total: Int64?, now: Int64) {
        self.total = total
        setRate(rate, now: now)
    }

    /// Sets another rate in bytes a second; nil means no limit. A debt at the old rate is forgiven.
    mutating func setRate(_ rate: Int64?, now: Int64) {
        guard rate != self.rate else { return }
        self.rate = rate
        bucket = rate.map { TokenBucket(rate: $0, now: now) }
    }

    /// Counts received bytes.
    mutating func take(_ bytes: Int) {
        bucket?.take(bytes)
        bytesReceived += Int64(bytes)
    }

    /// Whether more bytes came than the rate allows, as of the last call of `delay`.
    var isOverdrawn: Bool { bucket?.isOverdrawn ?? false }

    /// The limit on the run's total, if more bytes came than it allows; otherwise nil.
    var exceededTotal: Int64? { total.flatMap { bytesReceived > $0 ? $0 : nil } }

    /// Returns for how many milliseconds the loop must read no socket.
    ///
    /// - Parameter isBehind: whether received bytes should be written before more are read.
    mutating func delay(isBehind: Bool, now: Int64) -> Int64 {
        if isBehind { return ReadingLimits.breath }
        return bucket?.delay(now: now) ?? 0
    }
}

/// A budget of bytes a second for all transfers together.
///
/// The budget may be overdrawn, because received bytes cannot be sent back. The loop then reads no
/// socket until the debt is paid. The senders notice this through TCP, and no bytes pile up in
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

    /// Takes the number of bytes that arrived from the budget.
    mutating func take(_ bytes: Int) { level -= Double(bytes) }

    /// Whether the budget is overdrawn, as of the last call of `delay`.
    var isOverdrawn: Bool { level < 0 }

    /// Refills the budget. Returns how many milliseconds the loop must leave all sockets unread.
    mutating func delay(now: Int64) -> Int64 {
        let gained = Double(max(0, now - filledAt)) * Double(rate) / 1000
        level = min(level + gained, Double(rate) / 10)
        filledAt = now
        return level >= 0 ? 0 : Int64((-level * 1000 / Double(rate)).rounded(.up))
    }
}

/// Detects a transfer that receives fewer than 1 KiB a second for too long.
///
/// Each transfer has one clock for all its requests. So the clock detects a server that sends one
/// byte for each request. It runs only while a request asks for bytes, and its times are those of
/// `AskingTime`. Only bytes of bodies count, because header lines bring the file no further. A
/// stall or a pause resets the clock.
struct StallClock: Sendable {
    /// Bytes a second below which a transfer stalls.
    static let slowest: Int64 = 1024

    private let timeout: Int64
    private var asked: Int64 = 0
    private var received: Int64 = 0
    /// The time since which a request asks for bytes; nil while no request does.
    private var askingSince: Int64?

    /// - Parameter timeout: how long a transfer may be slower than `slowest`, in seconds.
    init(timeout: Int64) {
        let (milliseconds, overflow) = timeout.multipliedReportingOverflow(by: 1000)
        self.timeout = overflow ? .max : milliseconds
    }

    /// Starts the clock, because a request asks for bytes.
    mutating func begin(at time: Int64) {
        if askingSince == nil { askingSince = time }
    }

    /// Stops the clock, because no request asks for bytes any more.
    mutating func end(at time: Int64) {
        count(until: time)
        askingSince = nil
    }

    /// Counts bytes of a body.
    mutating func receive(_ bytes: Int) { received += Int64(bytes) }

    /// Returns whether the transfer has stalled; a sufficient rate restarts the time limit.
    mutating func hasStalled(at time: Int64) -> Bool {
        count(until: time)
        if received * 1000 >= asked * StallClock.slowest {
            asked = 0
            received = 0
        }
        return asked >= timeout
    }

    /// Restarts the clock with the whole time limit.
    mutating func reset() { self = StallClock(milliseconds: timeout) }

    private init(milliseconds: Int64) { timeout = milliseconds }

    private mutating func count(until time: Int64) {
        guard let since = askingSince else { return }
        asked += max(0, time - since)
        askingSince = max(since, time)
    }
}

/// Time in which mirror asked for bytes, as far as looks at a clock can measure.
///
/// Time in which mirror held back does not count: under a rate limit, while workers are behind, in
/// a pause. Time in which the process did not run does not count either, because it was stopped or
/// its machine slept. A long jump between two looks counts as one look.
struct AskingTime: Sendable {
    /// The longest time between two looks while a request asks for bytes, in milliseconds.
    static let look: Int64 = 250
    /// A look that comes later than this counts as a jump, in milliseconds.
    static let jump: Int64 = 1000

    /// The total time in which mirror asked for bytes, in milliseconds.
    private(set) var elapsed: Int64 = 0
    private var lookedAt: Int64

    init(now: Int64) { lookedAt = now }

    /// Adds the time since the last call if bytes were asked for; a jump counts as one look.
    ///
    /// - Parameter hasAsked: whether bytes were asked for since the last call.
    mutating func look(now: Int64, hasAsked: Bool = true) {
        let passed = max(0, now - lookedAt)
        lookedAt = max(lookedAt, now)
        if hasAsked { elapsed += passed > AskingTime.jump ? AskingTime.look : passed }
    }
}
