import Glibc
import MirrorKit

/// A thread that exists from the start, for work in which the main thread must not get stuck.
///
/// To pass work to Swift's runtime, a thread may have to start a further thread. If the system
/// refuses, the runtime tries again every second, silently and for ever.
struct StandbyThread {
    private final class Duty: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private let thread: pthread_t

    /// Starts the thread, which runs `duty` each time it is woken. SIGUSR2 must be blocked.
    init(_ duty: @escaping @Sendable () -> Void) throws(MirrorError) {
        let context = Unmanaged.passRetained(Duty(duty))
        var thread = pthread_t()
        let number = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let duty = Unmanaged<Duty>.fromOpaque(context).takeRetainedValue()
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGUSR2)
                var number: Int32 = 0
                while true { if sigwait(&signals, &number) == 0 { duty.body() } }
            }, context.toOpaque())
        guard number == 0 else {
            context.release()
            throw StandbyThread.refusal(number)
        }
        self.thread = thread
    }

    /// Wakes the thread. Several calls before the duty begins count as one.
    func wake() { pthread_kill(thread, SIGUSR2) }

    /// Returns why the system gives no further thread now. Returns nil if it gives one.
    static func refusal() -> MirrorError? {
        var thread = pthread_t()
        let number = pthread_create(&thread, nil, { _ in nil }, nil)
        if number == 0 { pthread_join(thread, nil) }
        return number == 0 ? nil : refusal(number)
    }

    /// Makes the error for an error number of pthread_create(3): failure, cause and remedy.
    private static func refusal(_ number: Int32) -> MirrorError {
        MirrorError(
            .inputOutput,
            "no further thread can be had: \(String(cString: strerror(number))). "
                + "End other programs, or raise the limits of this one (ulimit -u), then run again."
        )
    }
}
