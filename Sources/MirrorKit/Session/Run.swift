internal import Glibc
public import MirrorModel
internal import Synchronization

/// A plan under way: its events, in order, the last one being the summary.
///
/// The events are read once. Leaving the loop that reads them, or cancelling its task, ends the run;
/// parts are kept. `cancel` ends it too, and the events go on until the summary.
public struct Run: AsyncSequence, Sendable {
    /// What happened.
    public typealias Element = Event
    /// What ended the run before its end: `MirrorError`, or `ManifestRefusal`.
    public typealias Failure = any Error

    private let stream: AsyncThrowingStream<Event, any Error>
    private let control: RunControl

    /// A run and what reports it; only the run holds the stream, so that a run whose events nobody
    /// reads is ended when it is let go.
    static func begin() -> (run: Run, control: RunControl) {
        let (stream, continuation) = AsyncThrowingStream<Event, any Error>.makeStream()
        let control = RunControl(continuation)
        continuation.onTermination = { [weak control] reason in
            if case .cancelled = reason { control?.end(.interrupted(exit: 128 + SIGINT)) }
        }
        return (Run(stream: stream, control: control), control)
    }

    /// Ends the run early; parts are kept, and the summary carries this exit code.
    public func cancel(exit: Int32 = 130) { control.end(.interrupted(exit: exit)) }

    /// The summary, from when the last resource has ended: it is told as an event only once the index
    /// is closed and the lock is gone, which a slow disk may delay.
    public var earlySummary: Event? { control.earlySummary }

    /// The events of the run.
    public func makeAsyncIterator() -> Iterator {
        control.noteReader()
        return Iterator(
            events: stream.makeAsyncIterator(), reader: Reader(of: control))
    }

    /// Reads the events; a run whose reader has gone is ended.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var events: AsyncThrowingStream<Event, any Error>.Iterator
        fileprivate let reader: Reader
        private var pace = ReadingPace()

        fileprivate init(
            events: AsyncThrowingStream<Event, any Error>.Iterator, reader: Reader
        ) {
            self.events = events
            self.reader = reader
        }

        /// The next event; nil after the summary.
        public mutating func next() async throws -> Event? {
            await pace.rest { [reader] in reader.unread }
            let event = try await events.next()
            reader.noteRead()
            return event
        }

        /// The next event; nil after the summary.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            await pace.rest { [reader] in reader.unread }
            let event = try await events.next(isolation: actor)
            reader.noteRead()
            return event
        }
    }

    /// Lives as long as someone may ask for the next event: a caller may hold the run, and the
    /// stream with it, after the loop was left.
    fileprivate final class Reader: Sendable {
        private let control: RunControl

        init(of control: RunControl) { self.control = control }

        func noteRead() { control.noteRead() }

        var unread: Int { control.unread }

        deinit { control.end(.interrupted(exit: 128 + SIGINT)) }
    }
}

/// The side of a run that carries it out: takes events, and passes on that it is to end.
final class RunControl: Sendable {
    private struct State {
        var execution: Execution?
        var ending: RunEnding?
        var hasReader = false
        /// How many events were sent and not read yet.
        var unread = 0
        var earlySummary: Event?
    }

    private let state = Mutex(State())
    private let continuation: AsyncThrowingStream<Event, any Error>.Continuation

    init(_ continuation: AsyncThrowingStream<Event, any Error>.Continuation) {
        self.continuation = continuation
    }

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
    func send(_ event: Event) {
        state.withLock { $0.unread += 1 }
        continuation.yield(event)
    }

    /// How many events wait for their reader; 0 while there is none, who is not waited for.
    var unread: Int { state.withLock { $0.hasReader ? $0.unread : 0 } }

    /// Notes that somebody reads the events.
    func noteReader() { state.withLock { $0.hasReader = true } }

    /// Notes that an event was read.
    func noteRead() { state.withLock { $0.unread -= 1 } }

    /// Ends the events.
    func finish(throwing error: (any Error)?) {
        state.withLock { $0.execution = nil }
        continuation.finish(throwing: error)
    }

    /// Ends a run that could not begin; there is a summary all the same.
    func fail(_ error: any Error, root: String) {
        send(.failure(MirrorError(wrapping: error), root: root))
        finish(throwing: error)
    }
}

extension Event {
    /// The one event of a run that could not begin, or whose end nobody waits for: its summary, with
    /// the exit code that follows from the error where no other is given.
    public static func failure(
        _ error: MirrorError, root: String, exit: Int32? = nil, seconds: Double = 0
    ) -> Event {
        var summary = Summary()
        summary.root = root
        summary.error = error
        summary.seconds = seconds
        summary.exit = exit ?? ExitVerdict.code(for: error.code)
        let run = RunIdentifier.make(now: SystemClock.now(), random: RandomBytes.make(10))
        return Event(run: run, time: SystemClock.now(), body: .summary(summary))
    }
}
