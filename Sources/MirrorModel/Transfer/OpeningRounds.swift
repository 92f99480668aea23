/// Finds in a second how many requests at once a host answers as fast as few: the start of a run.
///
/// A round is over when as many requests have ended as there could be at its beginning. If each of a
/// round's requests only waits for its round trip, twice as many bring twice as much; so a round that
/// brought more than the one before doubles the number, and the first that did not takes it back. The
/// rounds follow the line: on a short one they take 20 ms, on a long one about two round trips.
///
/// Requests for long bodies do not end within a few round trips. What such a host can take is not
/// found here but by measuring for longer (`HostPace`).
struct OpeningRounds: Sendable {
    /// A round is no shorter, in milliseconds: fewer ends than come in this time say nothing.
    static let leastRound: Int64 = 20
    /// By how much more must come in for a higher number to have paid.
    static let gain = 1.25
    /// A round takes no longer than so many times what a new connection and an answer took.
    static let longestRound: Int64 = 4

    /// What follows from a round.
    enum Verdict: Sendable, Hashable {
        /// Nothing yet.
        case proceed
        /// So many at once.
        case grow(to: Int)
        /// So many at once, and that is the host's number.
        case settle(at: Int)
    }

    private var began: Int64
    private var ended = 0
    private var value: Int64 = 0
    private var limitAtBegin: Int
    private var wasFull = true
    /// What the round before brought with its number.
    private var earlier: (limit: Int, rate: Double)?
    /// The time from asking for a connection until its first answer, in milliseconds.
    private var answerTime: Int64 = 0
    private var hasBegun = false

    init(limit: Int, now: Int64) {
        began = now
        limitAtBegin = limit
    }

    /// A connection stands after so many milliseconds: what follows is the host's own time.
    mutating func connected(after time: Int64, now: Int64) {
        answerTime = max(answerTime, time)
        guard !hasBegun else { return }
        hasBegun = true
        began = now
    }

    /// An answer came so many milliseconds after its request was wanted.
    mutating func answered(after time: Int64) { answerTime = max(answerTime, time) }

    /// Counts bytes of bodies.
    mutating func received(_ bytes: Int) { value += Int64(bytes) }

    /// Counts a request that ended, and says what follows for the number.
    ///
    /// - Parameter isFull: whether others wait for a place; where none does, the number says nothing.
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
