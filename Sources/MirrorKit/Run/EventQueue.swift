internal import Synchronization

/// The events of a run for its only reader, which takes all waiting events at once.
final class EventQueue: Sendable {
    private struct State {
        var events: [Event] = []
        /// The number of events that the reader took last and still reads.
        var taken = 0
        var hasReader = false
        var isFinished = false
        var failure: (any Error)?
        var waiter: CheckedContinuation<Void, any Error>?
    }

    private let state = Mutex(State())

    /// Adds an event; has no effect after `finish`.
    func send(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.isFinished else { return nil }
            state.events.append(event)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Adds events and empties the list. After `finish`, the events are dropped.
    func send(contentsOf events: inout [Event]) {
        if events.isEmpty { return }
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.isFinished else { return nil }
            // An empty queue takes the list's storage, without a copy.
            if state.events.isEmpty { swap(&state.events, &events) } else { state.events += events }
            return state.waiter.take()
        }
        events.removeAll(keepingCapacity: true)
        waiter?.resume()
    }

    /// Ends the events; the error is thrown after the last one. Returns false if they had ended
    /// before.
    ///
    /// Events that are queued already are still read.
    @discardableResult
    func finish(throwing error: (any Error)? = nil) -> Bool {
        let (isEnd, waiter) = state.withLock { state in
            guard !state.isFinished else {
                return (false, nil as CheckedContinuation<Void, any Error>?)
            }
            state.isFinished = true
            state.failure = error
            return (true, state.waiter.take())
        }
        waiter?.resume()
        return isEnd
    }

    /// Notes that the events have a reader.
    func noteReader() { state.withLock { $0.hasReader = true } }

    /// Whether the events have, or had, a reader.
    var hasReader: Bool { state.withLock { $0.hasReader } }

    /// The number of unread events. 0 without a reader, so that a run does not wait for a reader.
    var unread: Int { state.withLock { $0.hasReader ? $0.events.count + $0.taken : 0 } }

    /// Takes all queued events, possibly none. The events taken before then count as read.
    func take() throws -> [Event] {
        try state.withLock { state in
            let events = state.events
            state.events = []
            state.taken = events.count
            if events.isEmpty, let failure = state.failure.take() { throw failure }
            return events
        }
    }

    /// Waits until there are events, or until they end.
    ///
    /// Throws `MirrorError` with `usage` if another reader waits.
    func wait(isolation: isolated (any Actor)? = #isolation) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<Void, any Error>? in
                guard state.events.isEmpty, !state.isFinished else { return .success(()) }
                if state.waiter != nil { return .failure(MirrorError.secondReader) }
                state.waiter = continuation
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }

    /// Whether a reader waits for events.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Whether the reader will get neither another event nor an error.
    var isOver: Bool { state.withLock { $0.isFinished && $0.events.isEmpty && $0.failure == nil } }
}

extension MirrorError {
    /// The error for a task that reads the events of a run that another task reads.
    fileprivate static let secondReader = MirrorError(
        .usage, "Two tasks read the events of one run. Read them once, and pass them on.")
}
