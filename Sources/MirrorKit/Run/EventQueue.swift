internal import MirrorModel
internal import Synchronization

/// The events of a run for its only reader, which takes all waiting events at once.
final class EventQueue: Sendable {
    private struct State {
        var events: [Event] = []
        /// The number of events that were taken and are being read.
        var taken = 0
        var hasReader = false
        var isFinished = false
        var failure: (any Error)?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Adds an event; has no effect after `finish`.
    func send(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isFinished else { return nil }
            state.events.append(event)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Adds events, and leaves the list empty; has no effect on the queue after `finish`.
    func send(contentsOf events: inout [Event]) {
        if events.isEmpty { return }
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isFinished else { return nil }
            // An empty queue takes the list over as it is.
            if state.events.isEmpty { swap(&state.events, &events) } else { state.events += events }
            return state.waiter.take()
        }
        events.removeAll(keepingCapacity: true)
        waiter?.resume()
    }

    /// Ends the events, and throws the error after the last one; returns false if they had ended.
    ///
    /// The events that wait by then are still read.
    @discardableResult
    func finish(throwing error: (any Error)? = nil) -> Bool {
        let (isEnd, waiter) = state.withLock { state in
            guard !state.isFinished else {
                return (false, nil as CheckedContinuation<Void, Never>?)
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

    /// The number of unread events; 0 without a reader, because a run does not wait for one.
    var unread: Int { state.withLock { $0.hasReader ? $0.events.count + $0.taken : 0 } }

    /// Takes all waiting events, possibly none; the events taken before count as read.
    func take() throws -> [Event] {
        try state.withLock { state in
            let events = state.events
            state.events = []
            state.taken = events.count
            if events.isEmpty, let failure = state.failure.take() { throw failure }
            return events
        }
    }

    /// Waits until there are events, or until they end. Only one reader may wait at a time.
    func wait(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.events.isEmpty, !state.isFinished {
                    state.waiter = continuation
                    return false
                }
                return true
            }
            if isReady { continuation.resume() }
        }
    }

    /// Whether neither an event nor an error follows.
    var isOver: Bool { state.withLock { $0.isFinished && $0.events.isEmpty && $0.failure == nil } }
}
