/// Lets events gather for a moment before they are read, if many come in a short time.
///
/// A reader that is faster than the events must be woken for each of them. Each wake-up costs a
/// system call on the sending thread: for twenty thousand small files, a twentieth of its time. So
/// while events come at more than one in a millisecond, a reader that has read all of them looks
/// again five milliseconds later, until no event came meanwhile.
struct ReadingPace {
    private static let sample = 64
    private static let fast = Duration.milliseconds(64)
    static let pause = Duration.milliseconds(5)

    private var count = 0
    private var began = ContinuousClock.now
    private var isFast = false

    /// Pauses the reader for a moment if events come fast.
    ///
    /// The reader calls it after `events` events, when no other event waits.
    mutating func rest(
        after events: Int, isolation: isolated (any Actor)? = #isolation
    ) async {
        count += events
        if events == 0 { isFast = false }
        if count >= Self.sample {
            let now = ContinuousClock.now
            isFast = now - began < Self.fast * (count / Self.sample)
            (count, began) = (0, now)
        }
        // A cancelled task does not pause, and learns of its end from the events.
        if isFast { try? await Task.sleep(for: Self.pause) }
    }
}
