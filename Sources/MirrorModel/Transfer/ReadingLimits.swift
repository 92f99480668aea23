/// How much may be read from sockets: a rate for all transfers together, a total for the run, a pause.
package struct ReadingLimits: Sendable {
    /// For how many milliseconds nothing is read while workers are behind.
    static let breath: Int64 = 2
    /// For how many milliseconds nothing is read while everything is paused.
    static let pause: Int64 = 1000

    /// Whether everything is paused.
    package var isPaused = false
    /// Whether bytes were held back lately, or came as fast as they can be taken: more connections would
    /// not bring more.
    package var wasHeldBack = false
    /// How many bytes of bodies came.
    package private(set) var bytesReceived: Int64 = 0
    private let total: Int64?
    private var bucket: TokenBucket?

    /// - Parameters:
    ///   - rate: bytes a second; nil for as many as come.
    ///   - total: bytes in this run; nil for as many as come.
    ///   - now: milliseconds.
    package init(rate: Int64?, total: Int64?, now: Int64) {
        self.total = total
        bucket = rate.map { TokenBucket(rate: $0, now: now) }
    }

    /// Counts bytes that came.
    package mutating func take(_ bytes: Int) {
        bucket?.take(bytes)
        bytesReceived += Int64(bytes)
    }

    /// Whether more came than the rate allows, as of the last look at the clock.
    package var isOverdrawn: Bool { bucket?.isOverdrawn ?? false }

    /// The total, where more came than that.
    package var exceededTotal: Int64? { total.flatMap { bytesReceived > $0 ? $0 : nil } }

    /// For how many milliseconds no socket is read.
    ///
    /// - Parameter isBehind: whether bytes wait that should be written first.
    package mutating func delay(isBehind: Bool, now: Int64) -> Int64 {
        if isPaused { return ReadingLimits.pause }
        if isBehind { return ReadingLimits.breath }
        return bucket?.delay(now: now) ?? 0
    }
}
