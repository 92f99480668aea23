import Glibc
import MirrorKit
import Synchronization

/// Cancels the running command on SIGINT, SIGTERM or SIGHUP, and at its deadline.
///
/// On SIGHUP, a command that can reload does so and goes on.
///
/// The signals are blocked in every thread, and the main thread takes them with sigtimedwait(2). So
/// no Swift runs in a signal handler. (An asynchronous `main` would not do: the runtime parks its
/// main thread with all signals open.)
///
/// The cancelled command ends by itself and keeps its parts. If it has not ended in time, the
/// process exits at once; the next run recovers as after a crash. The process also exits if Swift's
/// runtime hangs because the system refuses threads. The deadline applies to every stage, even
/// reading a pipe; the command then has 2 s to end.
final class Interruption: Sendable {
    private struct State {
        /// The signal that ended the command; else nil.
        var received: Int32?
        /// The action on SIGHUP. `nil` means that SIGHUP ends the command.
        var hangUp: (@Sendable () -> Void)?
        /// Whether a SIGHUP came, and the standby thread has not yet begun its action.
        var hasHungUp = false
        /// Whether the process was started to outlive its terminal (nohup(1)).
        var ignoresHangUp = false
        /// Seconds after which the command ends, counted from its beginning. `nil` means no limit.
        var deadline: Int64?
        /// Whether the deadline has passed, so that the command was cancelled.
        var isOverdue = false
        /// The main thread, which waits for signals.
        var main: pthread_t?
        /// The exit code of the command, once it has ended.
        var end: Int32?
        /// Prints the final lines for a process that ends before the command.
        var lastWords: (@Sendable (MirrorError, Int32) -> Void)?
        /// Starts the command. The standby thread calls this once.
        var begin: (@Sendable () -> Void)?
        /// Cancels the command's task.
        var cancel: (@Sendable () -> Void)?
        /// Whether the runtime was asked for a sign of life and has not answered yet.
        var isAwaited = false
    }

    /// How long a command may take to end after the deadline.
    private static let grace = Duration.seconds(2)
    /// Seconds between checks that the runtime responds.
    private static let checkInterval = 5
    /// Missed checks after which the process ends, if a new thread is refused too.
    private static let mostMissed = 6
    /// How long the final lines of a process may take, in microseconds.
    private static let lastBreath: UInt32 = 200_000
    /// How long a command may take to end after a signal.
    ///
    /// A run spends 400 ms of this time on work under way (`RunEnding.grace`). The time is less
    /// than a second, because the kernel needs the rest to end a thread that flushes.
    private static let patience = Duration.milliseconds(700)

    /// The only instance, which must be on the heap.
    ///
    /// A release build of Swift 6.3.1 laid out a global mutex of this state as zeros. There an
    /// absent number reads as 0, so every command ended at once with exit 0.
    private static let shared = Interruption()

    private let state = Mutex(State())

    /// Blocks the signals, and ignores signals that would end the process in mid-write.
    ///
    /// Call this function before any other thread exists: threads inherit the mask.
    static func blockSignals() {
        var action = sigaction()
        if sigaction(SIGHUP, nil, &action) == 0, isIgnored(action) {
            shared.state.withLock { $0.ignoresHangUp = true }
        }
        var signals = awaited()
        sigaddset(&signals, SIGUSR2)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A closed pipe or the file size limit makes a write fail; the writer reports the error.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Sets the action on SIGHUP. `nil` means that SIGHUP ends the command.
    ///
    /// The standby thread calls the action, which must return at once.
    static func setHangUp(_ body: (@Sendable () -> Void)?) {
        shared.state.withLock { $0.hangUp = body }
    }

    /// The exit code after a signal: 128 and the signal's number.
    ///
    /// `nil` means that no signal ended the command.
    static var exitCode: Int32? { shared.state.withLock { $0.received.map { 128 + $0 } } }

    /// Whether a signal or the deadline ends the command.
    static var endsCommand: Bool { exitCode != nil || deadlineError != nil }

    /// Ends the command `seconds` after it began. `nil` means no limit.
    static func setDeadline(seconds: Int64?) {
        let main = shared.state.withLock { state in
            state.deadline = seconds
            return state.main
        }
        // The main thread may already sleep beyond the deadline, so it is woken.
        if let main { pthread_kill(main, SIGUSR1) }
    }

    /// The error if the deadline passed before any signal. `nil` means that it did not.
    static var deadlineError: MirrorError? {
        shared.state.withLock { state in
            guard state.isOverdue, state.received == nil, let deadline = state.deadline else {
                return nil
            }
            return Self.error(of: deadline)
        }
    }

    private static func error(of deadline: Int64) -> MirrorError {
        MirrorError(
            .deadline,
            "The deadline of \(DurationText(seconds: deadline)) was over \(CommandStage.now.words). Run again, or allow more with --deadline."
        )
    }

    /// Sets the function that prints the final lines if the process ends before the command.
    ///
    /// A command that has printed these lines itself sets nil.
    static func setLastWords(_ words: (@Sendable (MirrorError, Int32) -> Void)?) {
        shared.state.withLock { $0.lastWords = words }
    }

    /// Runs a command. The caller, the main thread, waits for its end and for signals.
    ///
    /// Returns the exit code. Throws if the process gets no two further threads.
    static func supervise(
        _ command: @escaping @Sendable () async -> Int32
    ) throws(MirrorError) -> Int32 {
        let standby = try StandbyThread { attend() }
        // The runtime needs one more thread.
        if let refusal = StandbyThread.refusal() { throw refusal }
        let main = pthread_self()
        shared.state.withLock { state in
            state.main = main
            state.begin = {
                let task = Task {
                    let code = await command()
                    shared.state.withLock { $0.end = code }
                    pthread_kill(main, SIGUSR1)
                }
                shared.state.withLock { $0.cancel = { task.cancel() } }
            }
        }
        standby.wake()
        var missed = 0
        while true {
            var signals = awaited()
            var limit = pause()
            let number = sigtimedwait(&signals, nil, &limit)
            if let code = shared.state.withLock({ $0.end }) { return code }
            switch number {
            case SIGHUP where shared.state.withLock({ $0.hangUp }) != nil:
                shared.state.withLock { $0.hasHungUp = true }
                standby.wake()
            case SIGINT, SIGTERM, SIGHUP:
                shared.state.withLock { $0.received = number }
                standby.wake()
                return waitBriefly(after: number)
            case SIGUSR1: continue
            default:
                if meetsDeadline(standby) { continue }
                missed = shared.state.withLock { $0.isAwaited } ? missed + 1 : 0
                if missed >= mostMissed, let refusal = StandbyThread.refusal() {
                    // Without a thread, the work would wait for ever.
                    endProcess(refusal, exit: 74)
                }
                shared.state.withLock { $0.isAwaited = true }
                standby.wake()
            }
        }
    }

    /// Returns how long to wait for a signal.
    ///
    /// The wait ends at the next check, at the deadline, or at the end of the grace after the
    /// deadline.
    private static func pause() -> timespec {
        let (deadline, isOverdue) = shared.state.withLock { ($0.deadline, $0.isOverdue) }
        guard let deadline else { return timespec(tv_sec: checkInterval, tv_nsec: 0) }
        let instant = MirrorCommand.began.advanced(by: .seconds(deadline))
        let end = isOverdue ? instant.advanced(by: grace) : instant
        let left = min(
            max(ContinuousClock.now.duration(to: end), .zero), Duration.seconds(checkInterval))
        return timespec(left)
    }

    /// Cancels the command at its deadline, and ends the process if the command does not end.
    ///
    /// Returns true if it cancelled the command.
    private static func meetsDeadline(_ standby: StandbyThread) -> Bool {
        let (deadline, wasOverdue) = shared.state.withLock { ($0.deadline, $0.isOverdue) }
        guard let deadline else { return false }
        let instant = MirrorCommand.began.advanced(by: .seconds(deadline))
        guard ContinuousClock.now >= instant else { return false }
        guard wasOverdue else {
            shared.state.withLock { $0.isOverdue = true }
            standby.wake()
            return true
        }
        guard ContinuousClock.now >= instant.advanced(by: grace) else { return false }
        endProcess(error(of: deadline), exit: 69)
    }

    /// Does the work of the standby thread, each time the thread is woken.
    ///
    /// This thread cancels and acts on SIGHUP, because cancellation handlers may work for a while
    /// and the runtime may hang.
    private static func attend() {
        shared.state.withLock { $0.begin.take() }?()
        let hangUp = shared.state.withLock { state in
            defer { state.hasHungUp = false }
            return state.hasHungUp ? state.hangUp : nil
        }
        hangUp?()
        let (received, isOverdue, cancel, isAwaited) = shared.state.withLock {
            ($0.received, $0.isOverdue, $0.cancel, $0.isAwaited)
        }
        if received != nil || isOverdue {
            cancel?()
        } else if isAwaited {
            Task { shared.state.withLock { $0.isAwaited = false } }
        }
    }

    /// Waits for the command's end after a signal, and returns its exit code.
    ///
    /// A second signal, or a wait longer than `patience`, ends the process.
    private static func waitBriefly(after number: Int32) -> Int32 {
        var signals = awaited()
        let began = ContinuousClock.now
        while true {
            if let code = shared.state.withLock({ $0.end }) { return code }
            let left = ContinuousClock.now.duration(to: began.advanced(by: patience))
            guard left > .zero else { break }
            var limit = timespec(left)
            // SIGUSR1 means that the state has changed: the command ended, or the deadline was set.
            if [SIGINT, SIGTERM, SIGHUP].contains(sigtimedwait(&signals, nil, &limit)) { break }
        }
        if let code = shared.state.withLock({ $0.end }) { return code }
        let error = MirrorError(
            .cancelled, "Interrupted while a step took its time. Run again to go on.")
        endProcess(error, exit: 128 + number)
    }

    /// Prints the final lines, and exits at once.
    ///
    /// Another thread prints the lines while this one counts the time. Printing would last for ever
    /// if a reader has stopped reading, or if a disk is away.
    private static func endProcess(_ error: MirrorError, exit code: Int32) -> Never {
        let speaker = try? StandbyThread {
            speak(error, exit: code)
            _exit(code)
        }
        if let speaker {
            speaker.wake()
            usleep(lastBreath)
        } else if Console.output.isReady, Console.error.isReady {
            speak(error, exit: code)
        }
        _exit(code)
    }

    private static func speak(_ error: MirrorError, exit code: Int32) {
        if let words = shared.state.withLock({ $0.lastWords }) {
            words(error, code)
        } else if error.code != .cancelled {
            Console.error.write(last: Array("mirror: error: \(error.sentence)\n".utf8))
        }
    }

    private static func awaited() -> sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGUSR1] { sigaddset(&signals, number) }
        if !shared.state.withLock({ $0.ignoresHangUp }) { sigaddset(&signals, SIGHUP) }
        return signals
    }
}

extension timespec {
    /// Converts a duration, which must not be negative.
    fileprivate init(_ duration: Duration) {
        self.init(
            tv_sec: Int(duration.components.seconds),
            tv_nsec: Int(duration.components.attoseconds / 1_000_000_000))
    }
}

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
