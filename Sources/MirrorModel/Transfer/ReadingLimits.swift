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
