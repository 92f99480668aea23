/// Limits on reading: a rate for all transfers together, a total for the run, a pause.
package struct ReadingLimits: Sendable {
    /// For how many milliseconds no socket is read while workers are behind.
    static let breath: Int64 = 2
    /// For how many milliseconds no socket is read while everything is paused.
    static let pause: Int64 = 1000

    /// Whether everything is paused.
    package var isPaused = false
    /// Whether more connections would bring no more bytes.
    ///
    /// Bytes were held back lately, or came as fast as mirror can take them.
    package var wasHeldBack = false
    /// The number of body bytes received.
    package private(set) var bytesReceived: Int64 = 0
    private let total: Int64?
    private var rate: Int64?
    private var bucket: TokenBucket?

    /// - Parameters:
    ///   - rate: bytes a second; nil for no limit.
    ///   - total: bytes in this run; nil for no limit.
    ///   - now: milliseconds.
    package init(rate: Int64?, total: Int64?, now: Int64) {
        self.total = total
        setRate(rate, now: now)
    }

    /// Sets another rate in bytes a second, nil for no limit; a debt at the old rate is forgiven.
    package mutating func setRate(_ rate: Int64?, now: Int64) {
        guard rate != self.rate else { return }
        self.rate = rate
        bucket = rate.map { TokenBucket(rate: $0, now: now) }
    }

    /// Counts received bytes.
    package mutating func take(_ bytes: Int) {
        bucket?.take(bytes)
        bytesReceived += Int64(bytes)
    }

    /// Whether more bytes came than the rate allows, as of the last look at the clock.
    package var isOverdrawn: Bool { bucket?.isOverdrawn ?? false }

    /// The total, if more bytes came than that.
    package var exceededTotal: Int64? { total.flatMap { bytesReceived > $0 ? $0 : nil } }

    /// For how many milliseconds no socket is read.
    ///
    /// - Parameter isBehind: whether there are bytes that should be written first.
    package mutating func delay(isBehind: Bool, now: Int64) -> Int64 {
        if isPaused { return ReadingLimits.pause }
        if isBehind { return ReadingLimits.breath }
        return bucket?.delay(now: now) ?? 0
    }
}

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

/// Detects a transfer that receives fewer than 1 KiB a second for too long.
///
/// It belongs to a transfer and spans its requests, so that it detects a server which sends one
/// byte for each request. It runs only while one of them asks for bytes. Its times are those of
/// `AskingTime`. Only bytes of bodies count: header lines bring the file no further. A stall or a
/// pause resets it.
package struct StallClock: Sendable {
    /// Bytes a second below which a transfer stalls.
    package static let slowest: Int64 = 1024

    private let timeout: Int64
    private var asked: Int64 = 0
    private var received: Int64 = 0
    /// The time since which a request asks for bytes; nil while none does.
    private var askingSince: Int64?

    /// - Parameter timeout: seconds.
    package init(timeout: Int64) {
        let (milliseconds, overflow) = timeout.multipliedReportingOverflow(by: 1000)
        self.timeout = overflow ? .max : milliseconds
    }

    /// Starts the clock: a request asks for bytes.
    package mutating func begin(at time: Int64) {
        if askingSince == nil { askingSince = time }
    }

    /// Stops the clock: no request asks for bytes any more.
    package mutating func end(at time: Int64) {
        count(until: time)
        askingSince = nil
    }

    /// Counts bytes of a body.
    package mutating func receive(_ bytes: Int) { received += Int64(bytes) }

    /// Whether the transfer has stalled.
    package mutating func hasStalled(at time: Int64) -> Bool {
        count(until: time)
        if received * 1000 >= asked * StallClock.slowest {
            asked = 0
            received = 0
        }
        return asked >= timeout
    }

    /// Restarts the clock with the whole time limit.
    package mutating func reset() { self = StallClock(milliseconds: timeout) }

    private init(milliseconds: Int64) { timeout = milliseconds }

    private mutating func count(until time: Int64) {
        guard let since = askingSince else { return }
        asked += max(0, time - since)
        askingSince = max(since, time)
    }
}

/// Time in which bytes were asked for, as far as looks at a clock can tell.
///
/// Time in which mirror itself held back does not count: under a rate limit, while workers are
/// behind, while everything is paused. Neither does time in which the process did not run, stopped
/// or asleep with its machine: a jump between two looks counts as one look.
package struct AskingTime: Sendable {
    /// The longest time between two looks while a request asks for bytes, in milliseconds.
    package static let look: Int64 = 250
    /// The delay after which a look counts as prevented from coming earlier, in milliseconds.
    static let jump: Int64 = 1000

    /// The total in milliseconds.
    package private(set) var elapsed: Int64 = 0
    private var lookedAt: Int64

    package init(now: Int64) { lookedAt = now }

    /// Adds the time since the last call if bytes were asked for; a jump counts as one look.
    ///
    /// - Parameter hasAsked: whether bytes were asked for since the last call.
    package mutating func look(now: Int64, hasAsked: Bool = true) {
        let passed = max(0, now - lookedAt)
        lookedAt = max(lookedAt, now)
        if hasAsked { elapsed += passed > AskingTime.jump ? AskingTime.look : passed }
    }
}
