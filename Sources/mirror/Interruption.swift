import Glibc
import Synchronization

/// SIGINT and SIGTERM, turned into the cancellation of the running task.
///
/// The signals are blocked in every thread and taken by one that waits for them (sigwait(3)): no
/// Swift runs in a signal handler. The run then ends by itself with its parts kept; should it not
/// within a second, the process ends where it is, which the next run can settle as after a crash.
enum Interruption {
    private static let received = Mutex<Int32?>(nil)

    /// Blocks the two signals, and ignores those that would end the process in mid-write.
    ///
    /// Call it before any other thread exists: threads inherit the mask.
    static func blockSignals() {
        var signals = set()
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A closed pipe and a file size limit are errors of a write, reported where it is made.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The exit code that says which signal ended the run: 128 and the signal's number.
    static var exitCode: Int32? { received.withLock { $0.map { 128 + $0 } } }

    /// Runs work that is cancelled when a signal comes.
    static func cancellable(_ work: sending @escaping () async throws -> Void) async throws {
        let task = Task { try await work() }
        watch { task.cancel() }
        try await task.value
    }

    private static func watch(_ onSignal: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(SignalAction(run: onSignal))
        let code = pthread_create(&thread, nil, waitForSignal, box.toOpaque())
        guard code == 0 else { return box.release() }
        pthread_detach(thread)
    }

    fileprivate static func wait(then action: SignalAction) {
        var signals = set()
        var number: Int32 = 0
        guard sigwait(&signals, &number) == 0 else { return }
        received.withLock { $0 = number }
        action.run()
        // A second signal, or a second of waiting, ends the process.
        var limit = timespec(tv_sec: 0, tv_nsec: 900_000_000)
        while sigtimedwait(&signals, nil, &limit) == -1, errno == EINTR {}
        _exit(128 + number)
    }

    private static func set() -> sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        return signals
    }
}

private final class SignalAction: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

private func waitForSignal(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument {
        let action = Unmanaged<SignalAction>.fromOpaque(argument).takeRetainedValue()
        Interruption.wait(then: action)
    }
    return nil
}
