import Glibc
import Synchronization

/// SIGINT and SIGTERM, turned into the cancellation of the running command.
///
/// The signals are blocked in every thread, and the main thread takes them with sigwait(3): no Swift
/// runs in a signal handler. (An asynchronous `main` would not do: the runtime parks its main thread
/// with all signals open.) The command then ends by itself with its parts kept; should it not within a
/// second, the process ends where it is, which the next run settles as after a crash.
enum Interruption {
    private struct State {
        var received: Int32?
        var end: Int32?
        var lastWords: (@Sendable (Int32) -> Void)?
    }

    private static let state = Mutex(State())

    /// Blocks the signals, and ignores those that would end the process in mid-write.
    ///
    /// Call it before any other thread exists: threads inherit the mask.
    static func blockSignals() {
        var signals = awaited()
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A closed pipe and a file size limit are errors of a write, reported where it is made.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The exit code that says which signal ended the run: 128 and the signal's number.
    static var exitCode: Int32? { state.withLock { $0.received.map { 128 + $0 } } }

    /// What is still to be said, with the exit code, should the process end before the command does;
    /// nil once the command has said it.
    static func setLastWords(_ words: (@Sendable (Int32) -> Void)?) {
        state.withLock { $0.lastWords = words }
    }

    /// Runs a command while the calling thread, the main one, waits for its end and for signals.
    /// Returns the exit code.
    static func supervise(_ command: @escaping @Sendable () async -> Int32) -> Int32 {
        let main = pthread_self()
        let task = Task {
            let code = await command()
            state.withLock { $0.end = code }
            pthread_kill(main, SIGUSR1)
        }
        while true {
            var signals = awaited()
            var number: Int32 = 0
            guard sigwait(&signals, &number) == 0 else { continue }
            if let code = state.withLock({ $0.end }) { return code }
            guard number != SIGUSR1 else { continue }
            state.withLock { $0.received = number }
            // Elsewhere: what is told of it may do some work before it returns.
            Task.detached { task.cancel() }
            return waitBriefly(after: number)
        }
    }

    /// Waits for the command's end; a second signal, or a second of waiting, ends the process.
    private static func waitBriefly(after number: Int32) -> Int32 {
        var signals = awaited()
        var limit = timespec(tv_sec: 0, tv_nsec: 850_000_000)
        while sigtimedwait(&signals, nil, &limit) == -1, errno == EINTR {}
        if let code = state.withLock({ $0.end }) { return code }
        state.withLock({ $0.lastWords })?(128 + number)
        _exit(128 + number)
    }

    private static func awaited() -> sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGUSR1] { sigaddset(&signals, number) }
        return signals
    }
}
