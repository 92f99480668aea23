/// What ended a run early, or will, and how long what is under way is waited for.
struct RunEnd: Sendable {
    /// What ended it; nil while nothing did.
    private(set) var ending: RunEnding?
    /// Milliseconds of the run after which it ends; nil is no limit.
    private let deadline: Int64?
    /// When the wait for what is under way is over, in milliseconds of the run; nil waits to the end.
    private var graceEnd: Int64?

    /// - Parameter deadline: in seconds.
    init(deadline: Int64?) {
        self.deadline = deadline.map { $0 > .max / 1000 ? .max : $0 * 1000 }
    }

    /// Ends the run; false when something had ended it, which keeps its word. A signal that comes after
    /// that shortens the wait all the same, and so does the deadline.
    mutating func end(_ ending: RunEnding, at elapsed: Int64) -> Bool {
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

    /// Whether what is under way is waited for no longer.
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

    /// For how many milliseconds what is under way is waited for: a flush that takes its time is left
    /// to the next run, which settles it as after a crash. Nil waits to the end.
    fileprivate var grace: Int64? {
        switch self {
        case .interrupted: 400
        case .error(let error) where error.code == .deadline: RunEnding.graceAfterDeadline
        case .error, .firstFailure: nil
        }
    }
}
