import MirrorKit
import MirrorModel
import Synchronization

/// A run's summary that is not shown yet: what fails while the run is put away belongs to it.
///
/// It is taken once: by the command at its end, or by the last words of one that is cut short.
final class HeldSummary: Sendable {
    /// The last event of a run, and what ended the run before its end.
    struct End: Sendable {
        var event: Event
        var failure: (any Error)?

        /// The numbers, and the exit code.
        var summary: Summary {
            get { if case .summary(let summary) = event.body { summary } else { Summary() } }
            set { event.body = .summary(newValue) }
        }

        /// Enters what failed after the run; the first failure is the one that is told.
        mutating func enter(late error: any Error) {
            if failure == nil { failure = error }
            summary.enter(late: CommandFailure(error).error)
        }
    }

    private let end = Mutex<End?>(nil)
    private let told = Mutex<String?>(nil)
    private let run = Mutex<Run?>(nil)

    /// Names the run whose summary will come.
    func await(_ run: Run) { self.run.withLock { $0 = run } }

    /// What is known of the run's end, now that its summary will not be waited for.
    func takeEarly() -> End? {
        take() ?? run.withLock { $0 }?.earlySummary.map { End(event: $0) }
    }

    /// Notes that a resource's line says what ended the run.
    func note(told error: MirrorError) {
        if error.code.endsRun { told.withLock { $0 = $0 ?? error.message } }
    }

    /// Whether a resource's line has said it.
    func hasTold(_ error: MirrorError) -> Bool { told.withLock { $0 == error.message } }

    /// Keeps a summary; false for any other event.
    func keep(_ event: Event) -> Bool {
        guard case .summary = event.body else { return false }
        end.withLock { $0 = End(event: event) }
        return true
    }

    /// Keeps what ended the run; false where there is no summary that says so.
    func keep(_ failure: any Error) -> Bool {
        end.withLock {
            $0?.failure = failure
            return $0 != nil
        }
    }

    /// Gives the summary away; nil where there is none, or none any more.
    func take() -> End? { end.withLock { $0.take() } }
}
