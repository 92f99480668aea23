import Glibc
import MirrorModel
import Synchronization

/// SIGINT and SIGTERM, turned into the cancellation of the running command.
///
/// The signals are blocked in every thread, and the main thread takes them with sigtimedwait(2): no Swift
/// runs in a signal handler. (An asynchronous `main` would not do: the runtime parks its main thread
/// with all signals open.) The command then ends by itself with its parts kept; should it not within a
/// second, the process ends where it is, which the next run settles as after a crash. It ends so too when
/// the runtime does nothing any more because the system gives it no thread.
enum Interruption {
    private struct State {
        var received: Int32?
        var end: Int32?
        var lastWords: (@Sendable (MirrorError, Int32) -> Void)?
        var begin: (@Sendable () -> Void)?
        var cancel: (@Sendable () -> Void)?
        /// Whether the runtime was asked for a sign of life and has not given it yet.
        var isAwaited = false
    }

    /// Seconds between two looks whether the runtime does anything.
    private static let beat = 5
    /// After so many without a sign of it, and with no thread to be had, it is given up.
    private static let mostMissed = 6

    private static let state = Mutex(State())

    /// Blocks the signals, and ignores those that would end the process in mid-write.
    ///
    /// Call it before any other thread exists: threads inherit the mask.
    static func blockSignals() {
        var signals = awaited()
        sigaddset(&signals, SIGUSR2)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A closed pipe and a file size limit are errors of a write, reported where it is made.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The exit code that says which signal ended the run: 128 and the signal's number.
    static var exitCode: Int32? { state.withLock { $0.received.map { 128 + $0 } } }

    /// What is still to be said, with what ended it and the exit code, should the process end before the
    /// command does; nil once the command has said it.
    static func setLastWords(_ words: (@Sendable (MirrorError, Int32) -> Void)?) {
        state.withLock { $0.lastWords = words }
    }

    /// Runs a command while the calling thread, the main one, waits for its end and for signals.
    /// Returns the exit code; throws where the process gets no two further threads.
    static func supervise(
        _ command: @escaping @Sendable () async -> Int32
    ) throws(StandbyThread.Refusal) -> Int32 {
        let standby = try StandbyThread { attend() }
        // The runtime needs one more.
        if let refusal = StandbyThread.refusal() { throw refusal }
        let main = pthread_self()
        state.withLock { state in
            state.begin = {
                let task = Task {
                    let code = await command()
                    Self.state.withLock { $0.end = code }
                    pthread_kill(main, SIGUSR1)
                }
                Self.state.withLock { $0.cancel = { task.cancel() } }
            }
        }
        standby.wake()
        var missed = 0
        while true {
            var signals = awaited()
            var limit = timespec(tv_sec: beat, tv_nsec: 0)
            let number = sigtimedwait(&signals, nil, &limit)
            if let code = state.withLock({ $0.end }) { return code }
            switch number {
            case SIGINT, SIGTERM:
                state.withLock { $0.received = number }
                standby.wake()
                return waitBriefly(after: number)
            case SIGUSR1: continue
            default:
                missed = state.withLock { $0.isAwaited } ? missed + 1 : 0
                if missed >= mostMissed, let refusal = StandbyThread.refusal() { giveUp(refusal) }
                state.withLock { $0.isAwaited = true }
                standby.wake()
            }
        }
    }

    /// What the standby thread does when it is woken: what is told of a cancellation may do some work
    /// before it returns, and the runtime may never return.
    private static func attend() {
        state.withLock { $0.begin.take() }?()
        let (received, cancel, isAwaited) = state.withLock {
            ($0.received, $0.cancel, $0.isAwaited)
        }
        if received != nil {
            cancel?()
        } else if isAwaited {
            Task { state.withLock { $0.isAwaited = false } }
        }
    }

    /// Waits for the command's end; a second signal, or a second of waiting, ends the process.
    private static func waitBriefly(after number: Int32) -> Int32 {
        var signals = awaited()
        var limit = timespec(tv_sec: 0, tv_nsec: 850_000_000)
        while sigtimedwait(&signals, nil, &limit) == -1, errno == EINTR {}
        if let code = state.withLock({ $0.end }) { return code }
        let error = MirrorError(
            .cancelled, "Interrupted while a step took its time. Run again to go on.")
        state.withLock({ $0.lastWords })?(error, 128 + number)
        _exit(128 + number)
    }

    /// Ends the process, whose work would wait for ever for a thread.
    private static func giveUp(_ refusal: StandbyThread.Refusal) -> Never {
        let error = MirrorError(.inputOutput, refusal.message)
        if let words = state.withLock({ $0.lastWords }) {
            words(error, 74)
        } else {
            Console.error.write(last: Array("mirror: error: \(error.message)\n".utf8))
        }
        _exit(74)
    }

    private static func awaited() -> sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGUSR1] { sigaddset(&signals, number) }
        return signals
    }
}
