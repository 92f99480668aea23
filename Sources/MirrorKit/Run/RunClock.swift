internal import MirrorModel
internal import MirrorSystem

/// The clock of a run; the inputs that are taken together share a moment.
struct RunClock {
    /// When the run began.
    let startedAt: Instant
    /// When the thread last looked at the clock.
    private(set) var moment: RunMoment
    /// The instant from which the deadline and the summary's seconds count.
    private let began: ContinuousClock.Instant

    init(began: ContinuousClock.Instant) {
        self.began = began
        startedAt = SystemClock.now()
        moment = RunMoment(elapsed: 0, time: startedAt)
        look()
    }

    /// Looks at the clock.
    mutating func look() {
        moment = RunMoment(
            elapsed: Int64((ContinuousClock.now - began) / .milliseconds(1)),
            time: SystemClock.now())
    }
}
