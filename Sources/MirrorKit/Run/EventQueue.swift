internal import MirrorModel
internal import Synchronization

/// Events of a run on their way to their one reader, who takes all that are there at once.
final class EventQueue: Sendable {
    private struct State {
        var events: [Event] = []
        /// How many were taken, and are being read.
        var taken = 0
        var hasReader = false
        var isFinished = false
        var failure: (any Error)?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Adds an event; after the end there is none.
    func send(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isFinished else { return nil }
            state.events.append(event)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Ends the events; those that are there are still read, and then the error is thrown. False when
    /// they had ended.
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

    /// Notes that somebody reads the events.
    func noteReader() { state.withLock { $0.hasReader = true } }

    /// Whether somebody reads the events, or has.
    var hasReader: Bool { state.withLock { $0.hasReader } }

    /// How many events wait for their reader; 0 while there is none, who is not waited for.
    var unread: Int { state.withLock { $0.hasReader ? $0.events.count + $0.taken : 0 } }

    /// Takes all events so far, which may be none; the ones before have been read.
    func take() throws -> [Event] {
        try state.withLock { state in
            let events = state.events
            state.events = []
            state.taken = events.count
            if events.isEmpty, let failure = state.failure.take() { throw failure }
            return events
        }
    }

    /// Waits until there are events, or an end. One reader waits at a time.
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

    /// Whether none waits to be taken.
    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// Whether nothing follows.
    var isOver: Bool { state.withLock { $0.isFinished && $0.events.isEmpty && $0.failure == nil } }
}
