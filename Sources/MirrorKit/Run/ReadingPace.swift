/// Lets events gather for a moment before their reader, where many come in a short time.
///
/// A reader that is faster than the events has to be woken for each of them, and that costs a system
/// call on the thread that sends: of twenty thousand small files, a twentieth of its time. So while
/// events come at more than one in a millisecond, a reader that has read them all looks again five
/// milliseconds later, until nothing came meanwhile.
struct ReadingPace {
    private static let sample = 64
    private static let fast = Duration.milliseconds(64)
    static let pause = Duration.milliseconds(5)

    private var count = 0
    private var began = ContinuousClock.now
    private var isFast = false

    /// To be called when so many events were read and no other is there; comes back a moment later
    /// where they come fast.
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
        // A cancelled task does not rest, and learns of its end from the events.
        if isFast { try? await Task.sleep(for: Self.pause) }
    }
}
