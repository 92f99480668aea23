internal import MirrorModel
internal import Synchronization

/// The executing side of a run: takes its events, and passes on what is said to it.
final class RunControl: Sendable {
    private struct State {
        var execution: Execution?
        /// What was said to the run before it began, in order.
        var earlyInputs: [RunInput] = []
        /// Called when the run is told to end, while something before its beginning is waited for.
        var endIsHeard: (@Sendable () -> Void)?
        var isFinished = false
        var earlySummary: Event?
        /// Those who wait for the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// The events, until they are read.
    let events = EventQueue()

    /// Ends the run, now or as soon as it begins.
    func end(_ ending: RunEnding) { steer(.end(ending)) }

    /// Says something to the run, now or as soon as it begins.
    func steer(_ input: RunInput) {
        let (execution, endIsHeard) = state.withLock { state in
            if state.execution == nil, !state.isFinished { state.earlyInputs.append(input) }
            return (state.execution, input.isEnd ? state.endIsHeard : nil)
        }
        endIsHeard?()
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

    /// Ends the events of a run that holds nothing any more.
    func finish(throwing error: (any Error)?) {
        let waiters = state.withLock { state in
            (state.execution, state.isFinished) = (nil, true)
            defer { state.waiters = [] }
            return state.waiters
        }
        events.finish(throwing: error)
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the run holds nothing any more, whether or not the task is cancelled meanwhile.
    func waitForEnd(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { waiter in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiters.append(waiter) }
                return state.isFinished
            }
            if isFinished { waiter.resume() }
        }
    }

    /// Ends a run that could not begin; it still has a summary.
    func fail(_ error: any Error, root: String) {
        send(.failure(MirrorError(wrapping: error), root: root))
        finish(throwing: error)
    }
}

// MARK: Before the run begins

extension RunControl {
    /// In seconds.
    private static let century: Int64 = 3_155_760_000

    /// What work brings that may take for ever; nil if the run is to end or its time is over, or as soon as it is.
    ///
    /// The work's task is cancelled then, and nobody waits for it. Throws what the work throws.
    func outcome<Value: Sendable>(
        until deadline: ContinuousClock.Instant?, isolation: isolated (any Actor)? = #isolation,
        of work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let (outcomes, outcome) = AsyncStream.makeStream(of: Result<Value, any Error>?.self)
        state.withLock { $0.endIsHeard = { outcome.yield(nil) } }
        defer { state.withLock { $0.endIsHeard = nil } }
        if isToEnd(by: deadline) { return nil }
        let working = Task {
            do { outcome.yield(.success(try await work())) } catch {
                outcome.yield(.failure(error))
            }
        }
        defer { working.cancel() }
        let waking = deadline.map { deadline in
            Task {
                // Swift's runtime traps at an instant whose nanoseconds are too many for 64 bits.
                let last = ContinuousClock.now.advanced(by: .seconds(RunControl.century))
                try? await Task.sleep(until: min(deadline, last), clock: .continuous)
                outcome.yield(nil)
            }
        }
        defer { waking?.cancel() }
        // Whatever comes after the first is not heard.
        for await first in outcomes {
            return isToEnd(by: deadline) ? nil : try first?.get()
        }
        return nil
    }

    /// Whether the run was told to end before it began, or its time is over.
    private func isToEnd(by deadline: ContinuousClock.Instant?) -> Bool {
        if let deadline, deadline <= .now { return true }
        return state.withLock { $0.earlyInputs.contains(where: \.isEnd) }
    }
}

extension RunInput {
    fileprivate var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}
