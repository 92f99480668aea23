/// Finds within a second how many requests at once a host answers as fast as few.
///
/// It works at the start of a run.
///
/// A round is over when as many requests have ended as were allowed at its beginning. If each of a
/// round's requests only waits for its round trip, twice as many bring twice as much. So a round
/// that brought more than the one before doubles the number, and the first that did not takes the
/// doubling back. The length of a round follows the line: on a short line it takes 20 ms, on a long
/// one about two round trips.
///
/// Requests for long bodies do not end within a few round trips. The number for such a host is
/// found not here but by measuring for longer (`HostPace`).
struct OpeningRounds: Sendable {
    /// The least length of a round, in milliseconds: fewer ends than come in this time say nothing.
    static let leastRound: Int64 = 20
    /// The factor by which the received amount must grow for a higher number to have paid.
    static let gain = 1.25
    /// The longest round, as a multiple of the time that a new connection and a response took.
    static let longestRound: Int64 = 4

    /// The result of a round.
    enum Verdict: Sendable, Hashable {
        /// No change yet.
        case proceed
        /// The host gets `to` requests at once.
        case grow(to: Int)
        /// The host gets `at` requests at once, and that is its number.
        case settle(at: Int)
    }

    private var began: Int64
    private var ended = 0
    private var value: Int64 = 0
    private var limitAtBegin: Int
    private var wasFull = true
    /// The number of the round before, and its rate.
    private var earlier: (limit: Int, rate: Double)?
    /// The time from asking for a connection until its first response, in milliseconds.
    private var answerTime: Int64 = 0
    private var hasBegun = false
    /// When the first connection of a small body was established, or sockets were read again after
    /// it; nil from the first response on.
    private(set) var silentSince: Int64?

    init(limit: Int, now: Int64) {
        began = now
        limitAtBegin = limit
    }

    /// Notes a connection that took a number of milliseconds to establish.
    ///
    /// The first round begins with the first connection: the time after it is the host's own.
    mutating func connected(after time: Int64, isBrief: Bool, now: Int64) {
        answerTime = max(answerTime, time)
        guard !hasBegun else { return }
        hasBegun = true
        began = now
        if isBrief { silentSince = now }
    }

    /// Notes a response that came a number of milliseconds after its request was wanted.
    mutating func answered(after time: Int64) {
        answerTime = max(answerTime, time)
        silentSince = nil
    }

    /// The number of the last whole round; nil if there was none, or others did not wait in it.
    var measured: Int? { earlier?.limit }

    /// Lets the silence count from now on, because nobody could have read a response.
    mutating func restartSilence(now: Int64) { silentSince = silentSince.map { _ in now } }

    /// Notes that the silence had its effect.
    mutating func endSilence() { silentSince = nil }

    /// Counts bytes of bodies.
    mutating func received(_ bytes: Int) { value += Int64(bytes) }

    /// Counts a request that ended, and returns the result for the number.
    ///
    /// - Parameter isFull: whether others wait for a place; if none does, the number proves
    ///   nothing.
    mutating func ended(limit: Int, most: Int, isFull: Bool, now: Int64) -> Verdict {
        ended += 1
        value += HostPace.endValue
        wasFull = wasFull && isFull
        let elapsed = now - began
        guard ended >= limitAtBegin, elapsed >= OpeningRounds.leastRound else { return .proceed }
        let rate = Double(value) / Double(elapsed)
        defer { restart(limit: limit, now: now) }
        guard wasFull else {
            earlier = nil
            return .proceed
        }
        if let earlier, limit > earlier.limit, rate < earlier.rate * OpeningRounds.gain {
            return .settle(at: earlier.limit)
        }
        guard limit < most else { return .settle(at: limit) }
        earlier = (limit, rate)
        limitAtBegin = min(most, limit * 2)
        return .grow(to: limitAtBegin)
    }

    /// Whether the round has taken so long that its requests cannot be short ones.
    func isOverdue(now: Int64) -> Bool {
        let patience = max(HostPace.window, OpeningRounds.longestRound * answerTime)
        return hasBegun && now - began >= patience
    }

    private mutating func restart(limit: Int, now: Int64) {
        limitAtBegin = max(limitAtBegin, limit)
        began = now
        ended = 0
        value = 0
        wasFull = true
    }
}
