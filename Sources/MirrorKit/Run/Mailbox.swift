internal import MirrorSystem
internal import Synchronization

/// Messages for one thread from any others, taken all at once.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        var isClosed = false
        /// Wakes the receiver; nil where the receiver looks by itself.
        var signal: WakeSignal?
    }

    private let state = Mutex(State())

    /// Leaves a message; any thread may call it. False when the mailbox is closed.
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

    /// Takes all messages so far.
    func take() -> [Message] {
        state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    /// Has a signal raised with each message from now on; nil for none.
    func setSignal(_ signal: WakeSignal?) { state.withLock { $0.signal = signal } }

    /// Refuses messages from now on; returns those that were not taken.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }
}
