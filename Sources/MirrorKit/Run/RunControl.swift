internal import MirrorModel
internal import Synchronization

/// The side of a run that carries it out: takes events, and passes on that it is to end.
final class RunControl: Sendable {
    private struct State {
        var execution: Execution?
        var ending: RunEnding?
        var earlySummary: Event?
    }

    private let state = Mutex(State())
    /// The events, until they are read.
    let events = EventQueue()

    /// Ends the run, now or as soon as it begins.
    func end(_ ending: RunEnding) {
        let execution = state.withLock { state in
            state.ending = ending
            return state.execution
        }
        execution?.steer(.end(ending))
    }

    /// Notes the summary of a run that is still to be put away.
    func note(_ summary: Event) { state.withLock { $0.earlySummary = summary } }

    /// The summary that was noted.
    var earlySummary: Event? { state.withLock { $0.earlySummary } }

    /// Names what carries the run out.
    func attach(_ execution: Execution) {
        let ending = state.withLock { state in
            state.execution = execution
            return state.ending
        }
        if let ending { execution.steer(.end(ending)) }
    }

    /// Passes an event on.
    func send(_ event: Event) { events.send(event) }

    /// Ends the events.
    func finish(throwing error: (any Error)?) {
        state.withLock { $0.execution = nil }
        events.finish(throwing: error)
    }

    /// Ends a run that could not begin; there is a summary all the same.
    func fail(_ error: any Error, root: String) {
        send(.failure(MirrorError(wrapping: error), root: root))
        finish(throwing: error)
    }
}
