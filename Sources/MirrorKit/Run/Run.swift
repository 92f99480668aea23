internal import Glibc
public import MirrorModel
internal import MirrorSystem

/// A plan under way: its events in order, the last of which is the summary.
///
/// The events can be read once. Leaving the loop that reads them, or cancelling its task, ends the
/// run; parts are kept. `waitForEnd` returns when it has ended. `cancel` also ends the run, but the
/// events continue until the summary.
public struct Run: AsyncSequence, Sendable {
    /// An event of the run.
    public typealias Element = Event
    /// The error that ended the run early: `MirrorError`, or `ManifestRefusal`.
    public typealias Failure = any Error

    private let handle: Handle
    private var control: RunControl { handle.control }

    init(_ control: RunControl) { handle = Handle(control) }

    /// Ends the run early; parts are kept, and the summary carries this exit code.
    public func cancel(exit: Int32 = 130) { control.end(.interrupted(exit: exit)) }

    /// The summary, available as soon as the last resource has ended.
    ///
    /// The summary is sent as an event only once the index is closed and the lock is released,
    /// which a slow disk may delay.
    public var earlySummary: Event? { control.earlySummary }

    /// Waits until the run has ended and has given back all that it held, the root's lock included.
    ///
    /// So a program that has left the loop knows when the next run may begin. If another run of the
    /// session, or a body of `withLock`, is under way, the lock stays with that one. A cancelled task
    /// waits too: a run that is to end does so within a second. Whatever ended the run is thrown where
    /// the events are read.
    public func waitForEnd(isolation: isolated (any Actor)? = #isolation) async {
        await control.waitForEnd()
    }

    /// The events of the run.
    public func makeAsyncIterator() -> Iterator { Iterator(Reader(of: control)) }

    /// Reads the events; the run ends when its reader is gone.
    public struct Iterator: AsyncIteratorProtocol {
        private let reader: Reader
        /// Events that were taken, and the position of the first that was not read.
        private var taken: [Event] = []
        private var position = 0
        private var pace = ReadingPace()

        fileprivate init(_ reader: Reader) { self.reader = reader }

        /// The next event; nil after the summary.
        public mutating func next() async throws -> Event? {
            reader.heedCancellation()
            if position == taken.count { try await refill() }
            return read()
        }

        /// The next event; nil after the summary.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            reader.heedCancellation()
            if position == taken.count { try await refill(isolation: actor) }
            return read()
        }

        /// All events that wait, at least one; nil after the summary.
        ///
        /// Each call of an asynchronous function may change threads, and a reader of thousands of
        /// events a second notices that.
        package mutating func nextEvents(
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> ArraySlice<Event>? {
            reader.heedCancellation()
            if position == taken.count { try await refill(isolation: isolation) }
            defer { position = taken.count }
            return position == taken.count ? nil : taken[position...]
        }

        private mutating func read() -> Event? {
            if position == taken.count { return nil }
            defer { position += 1 }
            return taken[position]
        }

        /// Takes the events that wait; waits for the first of them, and takes none after the last.
        private mutating func refill(isolation: isolated (any Actor)? = #isolation) async throws {
            while true {
                // An error may come instead: what was read must not be read again after it.
                (position, taken) = (0, [])
                taken = try reader.events.take()
                countSinceRest += taken.count
                if !taken.isEmpty || reader.events.isOver { return }
                let rest = pace.rest(after: countSinceRest)
                if let rest { await reader.events.pause(for: rest) }
                // Events that came meanwhile are taken without a wait. If there are none, the
                // reader waits.
                let isQuiet = reader.events.isEmpty
                if isQuiet, rest != nil { pace.noteQuiet() }
                countSinceRest = 0
                if isQuiet { await reader.wait() }
            }
        }

        /// The number of events that were read since the last rest.
        private var countSinceRest = 0
    }

    /// Lives as long as a caller holds the run; its end also ends a run that has no reader.
    private final class Handle: Sendable {
        let control: RunControl

        init(_ control: RunControl) { self.control = control }

        deinit {
            if !control.events.hasReader { control.end(.interrupted(exit: 128 + SIGINT)) }
        }
    }

    /// Lives as long as a caller may ask for the next event; its end also ends the run.
    ///
    /// A caller may still hold the run after leaving the loop.
    fileprivate final class Reader: Sendable {
        private let control: RunControl

        init(of control: RunControl) {
            self.control = control
            control.events.noteReader()
        }

        var events: EventQueue { control.events }

        /// Ends the run if the reading task was cancelled; events sent by then are still read.
        func heedCancellation() { if Task.isCancelled { end() } }

        /// Ends the run and its events, once.
        private func end() {
            if control.events.finish() { control.end(.interrupted(exit: 128 + SIGINT)) }
        }

        /// Waits for events; a cancellation of the task meanwhile ends the run and its events.
        func wait(isolation: isolated (any Actor)? = #isolation) async {
            await withTaskCancellationHandler {
                await events.wait()
            } onCancel: {
                end()
            }
        }

        deinit { control.end(.interrupted(exit: 128 + SIGINT)) }
    }
}

extension Event {
    /// The only event of a run that could not begin, or whose end no caller waits for: its summary.
    ///
    /// If no exit code is given, the error decides it.
    public static func failure(
        _ error: MirrorError, root: String, exit: Int32? = nil, seconds: Double = 0
    ) -> Event {
        var summary = Summary()
        summary.root = root
        summary.error = error
        summary.seconds = seconds
        summary.exit = exit ?? ExitVerdict.code(for: error.code)
        return .standingAlone(summary)
    }

    /// The summary of a command that needed no run.
    package static func standingAlone(_ summary: Summary) -> Event {
        let run = RunIdentifier.make(now: SystemClock.now(), random: RandomBytes.make(10))
        return Event(run: run, time: SystemClock.now(), body: .summary(summary))
    }
}
