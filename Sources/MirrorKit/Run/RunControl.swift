internal import MirrorModel
internal import Synchronization

/// The executing side of a run: takes its events, and passes on what is said to it.
final class RunControl: Sendable {
    private struct State {
        var execution: Execution?
        /// What was said to the run before it began, in order.
        var earlyInputs: [RunInput] = []
        var isFinished = false
        var earlySummary: Event?
    }

    private let state = Mutex(State())
    /// The events, until they are read.
    let events = EventQueue()

    /// Ends the run, now or as soon as it begins.
    func end(_ ending: RunEnding) { steer(.end(ending)) }

    /// Says something to the run, now or as soon as it begins.
    func steer(_ input: RunInput) {
        let execution = state.withLock { state in
            if state.execution == nil, !state.isFinished { state.earlyInputs.append(input) }
            return state.execution
        }
        execution?.steer(input)
    }

    /// Notes the summary of a run that still has to release the engine.
    func note(_ summary: Event) { state.withLock { $0.earlySummary = summary } }

    /// The summary that was noted.
    var earlySummary: Event? { state.withLock { $0.earlySummary } }

    /// Sets the execution that carries out the run.
    func attach(_ execution: Execution) {
        let inputs = state.withLock { state in
            defer { state.earlyInputs = [] }
            state.execution = execution
            return state.earlyInputs
        }
        for input in inputs { execution.steer(input) }
    }

    /// Passes an event on.
    func send(_ event: Event) { events.send(event) }

    /// Passes events on, and leaves the list empty.
    func send(contentsOf events: inout [Event]) { self.events.send(contentsOf: &events) }

    /// Ends the events.
    func finish(throwing error: (any Error)?) {
        state.withLock { ($0.execution, $0.isFinished) = (nil, true) }
        events.finish(throwing: error)
    }

    /// Ends a run that could not begin; it still has a summary.
    func fail(_ error: any Error, root: String) {
        send(.failure(MirrorError(wrapping: error), root: root))
        finish(throwing: error)
    }
}
