/// Why a run ends early, and how long it waits for the work under way.
struct RunEnd: Sendable {
    /// The cause of the end; nil while there is none.
    private(set) var ending: RunEnding?
    /// Milliseconds of the run after which it ends; nil is no limit.
    private let deadline: Int64?
    /// When the wait for work under way is over, in milliseconds of the run; nil waits without a limit.
    private var graceEnd: Int64?

    /// - Parameter deadline: in seconds.
    init(deadline: Int64?) {
        self.deadline = deadline.map { $0 > .max / 1000 ? .max : $0 * 1000 }
    }

    /// Notes what ends the run. False if something else has ended it: that cause stays, but a signal or the
    /// deadline still shortens the wait.
    mutating func note(_ ending: RunEnding, at elapsed: Int64) -> Bool {
        let limits = [
            ending.grace.map { elapsed.addingSaturated($0) },
            deadline?.addingSaturated(RunEnding.graceAfterDeadline),
        ]
        graceEnd = (limits + [graceEnd]).compactMap { $0 }.min()
        guard self.ending == nil else { return false }
        self.ending = ending
        return true
    }

    /// Whether the deadline has come, and nothing else ended the run.
    func isDue(at elapsed: Int64) -> Bool {
        ending == nil && deadline.map { elapsed >= $0 } ?? false
    }

    /// Whether the run no longer waits for the work under way.
    func isGraceOver(at elapsed: Int64) -> Bool { graceEnd.map { elapsed >= $0 } ?? false }

    /// Milliseconds until the next of these moments; nil when there is none.
    func wait(at elapsed: Int64) -> Int64? {
        let next = ending == nil ? deadline : graceEnd
        return next.map { max(0, $0 - elapsed) }
    }
}

extension RunEnding {
    /// How long a run may go on after its deadline, in milliseconds.
    fileprivate static let graceAfterDeadline: Int64 = 1000

    /// Milliseconds to wait for the work under way; nil is without a limit.
    ///
    /// An interrupted run has 400 ms, because the command ends the process 700 ms after a signal
    /// (`Interruption.patience`). The next run settles a flush that takes longer as after a crash.
    fileprivate var grace: Int64? {
        switch self {
        case .interrupted: 400
        case .error(let error) where error.code == .deadline: RunEnding.graceAfterDeadline
        case .error, .firstFailure: nil
        }
    }
}
