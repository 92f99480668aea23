import MirrorKit
import MirrorModel
import Synchronization

/// A run's summary before it is shown: failures while the run is put away are still added to it.
///
/// It is taken once: by the command at its end, or by the final message of a command that is cut
/// short.
final class HeldSummary: Sendable {
    /// The last event of a run, and the error that ended the run early.
    struct End: Sendable {
        var event: Event
        var failure: (any Error)?

        /// The run's numbers and its exit code.
        var summary: Summary {
            get { if case .summary(let summary) = event.body { summary } else { Summary() } }
            set { event.body = .summary(newValue) }
        }

        /// Adds an error from after the run; only the first error is reported.
        mutating func enter(late error: any Error) {
            if failure == nil { failure = error }
            summary.enter(late: CommandFailure(error).error)
        }
    }

    private let end = Mutex<End?>(nil)
    private let told = Mutex<String?>(nil)
    private let run = Mutex<Run?>(nil)

    /// Sets the run whose summary will come.
    func await(_ run: Run) { self.run.withLock { $0 = run } }

    /// The known end of the run, for a command that no longer waits for the summary.
    func takeEarly() -> End? {
        take() ?? run.withLock { $0 }?.earlySummary.map { End(event: $0) }
    }

    /// Notes that a resource's line reports the error that ended the run.
    func note(told error: MirrorError) {
        if error.code.endsRun { told.withLock { $0 = $0 ?? error.message } }
    }

    /// Whether a resource's line has reported this error.
    func hasTold(_ error: MirrorError) -> Bool { told.withLock { $0 == error.message } }

    /// Keeps a summary; false for any other event.
    func keep(_ event: Event) -> Bool {
        guard case .summary = event.body else { return false }
        end.withLock { $0 = End(event: event) }
        return true
    }

    /// Keeps a summary that was taken.
    func keep(_ end: End) { self.end.withLock { $0 = end } }

    /// Keeps the error that ended the run; false where there is no summary to add it to.
    func keep(_ failure: any Error) -> Bool {
        end.withLock {
            $0?.failure = failure
            return $0 != nil
        }
    }

    /// Returns the summary and forgets it; nil where there is none, or none any more.
    func take() -> End? { end.withLock { $0.take() } }
}
