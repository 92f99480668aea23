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
        /// The pause of a reader that lets events gather.
        var pause: Task<Void, Never>?
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
        let (waiter, pause) = state.withLock { state in
            guard !state.isFinished else {
                return (nil as CheckedContinuation<Void, Never>?, nil as Task<Void, Never>?)
            }
            // An empty queue takes the list over as it is.
            if state.events.isEmpty { swap(&state.events, &events) } else { state.events += events }
            let isFull = state.events.count >= ReadingPace.many
            return (state.waiter.take(), isFull ? state.pause.take() : nil)
        }
        events.removeAll(keepingCapacity: true)
        waiter?.resume()
        pause?.cancel()
    }

    /// Ends the events, and throws the error after the last one; returns false if they had ended.
    ///
    /// The events that wait by then are still read.
    @discardableResult
    func finish(throwing error: (any Error)? = nil) -> Bool {
        let (isEnd, waiter, pause) = state.withLock { state in
            guard !state.isFinished else {
                return (false, nil as CheckedContinuation<Void, Never>?, nil as Task<Void, Never>?)
            }
            state.isFinished = true
            state.failure = error
            return (true, state.waiter.take(), state.pause)
        }
        waiter?.resume()
        pause?.cancel()
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

    /// Lets events gather for a while, or until there are many or they end. Only one reader may pause at a time.
    ///
    /// A cancelled task does not pause, and learns of its end from the events.
    func pause(for duration: Duration, isolation: isolated (any Actor)? = #isolation) async {
        let pause = Task { _ = try? await Task.sleep(for: duration) }
        let hasEnough = state.withLock { state in
            state.pause = pause
            return state.isFinished || state.events.count >= ReadingPace.many
        }
        if hasEnough { pause.cancel() }
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
        state.withLock { $0.pause = nil }
    }

    /// Whether no event waits to be taken.
    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// Whether neither an event nor an error follows.
    var isOver: Bool { state.withLock { $0.isFinished && $0.events.isEmpty && $0.failure == nil } }
}

/// Lets events gather for a moment before they are read, if many come in a short time.
///
/// A reader that is faster than the events must be woken for each of them. Each wake-up costs a
/// system call on the sending thread: for twenty thousand small files, a twentieth of its time. And it
/// takes a processor from what brings the events. So while events come at more than one in a millisecond,
/// a reader that has read all of them looks again twenty milliseconds later, until no event came meanwhile.
/// Many events end that wait, and so does their end.
struct ReadingPace {
    private static let sample = 16
    private static let fast = Duration.milliseconds(16)
    static let pause = Duration.milliseconds(20)
    /// How many events are read at once, however long the reader has waited.
    static let many = 1024

    private var count = 0
    private var began = ContinuousClock.now
    private var isFast = false

    /// How long the reader of a queue pauses after it read `events` events, when no other waits; nil:
    /// not at all.
    mutating func rest(after events: Int) -> Duration? {
        count += events
        if count >= Self.sample {
            let now = ContinuousClock.now
            isFast = now - began < Self.fast * (count / Self.sample)
            (count, began) = (0, now)
        }
        return isFast ? Self.pause : nil
    }

    /// Notes that no event came during a pause.
    mutating func noteQuiet() {
        isFast = false
        (count, began) = (0, .now)
    }
}
