/// Lets events gather for a moment before they are read, if many come in a short time.
///
/// A reader that is faster than the events must be woken for each of them. Each wake-up costs a
/// system call on the sending thread: for twenty thousand small files, a twentieth of its time. And it
/// takes a processor from what brings the events. So while events come at more than one in a millisecond,
/// a reader that has read all of them looks again twenty milliseconds later, until no event came meanwhile.
/// Many events end that wait, and so does their end.
struct ReadingPace {
    private static let sample = 16
    private static let fast = Duration.milliseconds(16)
    static let pause = Duration.milliseconds(20)
    /// How many events are read at once, however long the reader has waited.
    static let many = 1024

    private var count = 0
    private var began = ContinuousClock.now
    private var isFast = false

    /// How long the reader of a queue pauses after it read `events` events, when no other waits; nil:
    /// not at all.
    mutating func rest(after events: Int) -> Duration? {
        count += events
        if count >= Self.sample {
            let now = ContinuousClock.now
            isFast = now - began < Self.fast * (count / Self.sample)
            (count, began) = (0, now)
        }
        return isFast ? Self.pause : nil
    }

    /// Notes that no event came during a pause.
    mutating func noteQuiet() {
        isFast = false
        (count, began) = (0, .now)
    }
}
