internal import Synchronization

/// Messages from any thread to one receiving thread, which takes all of them at once.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isClosed = false
        /// Wakes the receiver. `nil` if the receiver looks into the mailbox by itself.
        var signal: WakeSignal?
    }

    private let state = Mutex(State())

    /// Adds a message; any thread may call it. Returns false if the mailbox is closed.
    @discardableResult
    func post(_ message: Message) -> Bool {
        let (isTaken, signal) = state.withLock { state in
            guard !state.isClosed else { return (false, nil as WakeSignal?) }
            state.messages.append(message)
            return (true, state.signal)
        }
        signal?.raise()
        return isTaken
    }

    /// Removes and returns all messages.
    func take() -> [Message] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Sets the signal that each later message raises. `nil` for none.
    func setSignal(_ signal: WakeSignal?) { state.withLock { $0.signal = signal } }

    /// Closes the mailbox: it refuses later messages. Returns the messages that were not taken.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }
}
