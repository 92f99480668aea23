internal import MirrorSystem
internal import Synchronization

/// Messages for one thread from any others, taken many at a time.
///
/// While messages keep arriving, the receiver polls once in a millisecond, because a wake-up for each
/// message would cost the sender a system call. After a poll that found nothing, the next message
/// wakes the receiver.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var messages: [Message] = []
        /// Whether the last look found any.
        var wasBusy = false
        /// Whether the thread sleeps until the next message.
        var isAsleep = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal: WakeSignal

    /// Throws where the process has as many descriptors as it may.
    init() throws(Errno) { signal = try WakeSignal() }

    /// Leaves a message; any thread may call it. False when the mailbox is closed.
    ///
    /// - Parameter isUrgent: whether the receiver is woken even if it would poll soon.
    @discardableResult
    func post(_ message: Message, isUrgent: Bool = false) -> Bool {
        let (isTaken, wakes) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.messages.append(message)
            defer { state.isAsleep = false }
            return (true, state.isAsleep || isUrgent)
        }
        if wakes { signal.raise() }
        return isTaken
    }

    /// Wakes the receiver if messages wait, because no more will come soon.
    func hurry() {
        if state.withLock({ !$0.messages.isEmpty }) { signal.raise() }
    }

    /// Takes all messages so far. Waits at most `limit` milliseconds for the first one; nil waits
    /// without a limit. May return none before that.
    func take(waitingAtMost limit: Int64?) -> [Message] {
        let (messages, wasBusy) = look(isFirst: limit != 0)
        if !messages.isEmpty || limit == 0 { return messages }
        let longest = wasBusy ? min(limit ?? 1, 1) : limit ?? -1
        signal.wait(milliseconds: Int32(clamping: longest))
        signal.clear()
        return look(isFirst: false).messages
    }

    private func look(isFirst: Bool) -> (messages: [Message], wasBusy: Bool) {
        state.withLock { state in
            let messages = state.messages
            let wasBusy = state.wasBusy
            state.messages = []
            // About as many come until the next look.
            if messages.count > 1 { state.messages.reserveCapacity(messages.count) }
            state.wasBusy = !messages.isEmpty
            state.isAsleep = isFirst && messages.isEmpty && !wasBusy
            return (messages, wasBusy)
        }
    }

    /// Refuses messages from now on; returns those that were not taken.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }
}
