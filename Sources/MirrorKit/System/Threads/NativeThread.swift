internal import CLinux
internal import Glibc
internal import Synchronization

/// A thread of the system, for work that blocks and so must not run on Swift's cooperative pool.
struct NativeThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread that runs `body`. The kernel cuts `name` to 15 bytes.
    ///
    /// Throws if the system refuses another thread (pthread_create(3)).
    init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                linux_name_thread(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw Errno(number: result, call: "pthread_create", path: "")
        }
        self.thread = thread
    }

    /// Waits until the thread has ended. Call it once.
    func join() { pthread_join(thread, nil) }

    /// Detaches the thread, so that no call waits for its end. Call it once, instead of `join`.
    func detach() { pthread_detach(thread) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

/// Runs work that blocks on threads outside Swift's cooperative pool.
///
/// Each `Offload` object is one such thread. The thread runs one piece of work after another, and
/// ends when no work has arrived for a second. A run offloads many short pieces in a row. A new
/// thread for each piece would cost more than the work.
final class Offload: Sendable {
    /// Runs work on another thread. Suspends the task until the work returns a value or throws.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = {
                continuation.resume(with: Result { try work() })
            }
            // If the system gives no thread, the work blocks a thread of Swift's pool, which is the
            // lesser evil.
            if !reuse(for: body), !start(with: body) { body() }
        }
    }

    private static let idle = Mutex<[Offload]>([])
    /// Seconds that an idle thread waits for more work.
    private static let patience = 1

    private let next: Mutex<(@Sendable () -> Void)?>
    private let wakeup = Semaphore()

    private init(_ first: @escaping @Sendable () -> Void) { next = Mutex(first) }

    /// Gives work to an idle thread. Returns false if there is no idle thread.
    private static func reuse(for body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = idle.withLock({ $0.popLast() }) else { return false }
        thread.next.withLock { $0 = body }
        thread.wakeup.post()
        return true
    }

    /// Starts a thread with its first work. Returns false if the system gives no thread.
    private static func start(with body: @escaping @Sendable () -> Void) -> Bool {
        let worker = Offload(body)
        guard let thread = try? NativeThread("session", { worker.run() }) else { return false }
        thread.detach()
        return true
    }

    private func run() {
        repeat { runNext() } while waitForWork()
    }

    /// Runs one piece of work, and keeps no reference to it afterwards.
    ///
    /// The work may hold the last reference to a descriptor or a lock, and the thread may live on
    /// for long.
    private func runNext() {
        let body = next.withLock { next in
            defer { next = nil }
            return next
        }
        body?()
    }

    private func waitForWork() -> Bool {
        Offload.idle.withLock { $0.append(self) }
        if wakeup.wait(seconds: Offload.patience) { return true }
        let isUnasked = Offload.idle.withLock { idle in
            guard let place = idle.firstIndex(where: { $0 === self }) else { return false }
            idle.remove(at: place)
            return true
        }
        // Another thread claimed this one at the last moment. Its work is about to arrive.
        if !isUnasked { wakeup.wait() }
        return !isUnasked
    }
}

extension NativeThread {
    /// Runs one piece of work on this thread and the other on a new thread, and waits for both.
    ///
    /// If the system gives no new thread, this thread runs both. `thread` is the name of the new
    /// thread, which the kernel cuts to 15 bytes.
    static func both<First, Second: Sendable>(
        _ first: () -> First, and second: @escaping @Sendable () -> Second, thread: String
    ) -> (First, Second) {
        let result = Mutex<Second?>(nil)
        let other = try? NativeThread(thread) {
            let value = second()
            result.withLock { $0 = value }
        }
        guard let other else { return (first(), second()) }
        let value = first()
        other.join()
        return (value, result.withLock { $0.take() } ?? second())
    }
}

/// Asks blocking work to stop, because its result is no longer wanted.
final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Creates a flag that is not set.
    init() {}

    /// Whether the work should stop.
    var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Asks the work to stop.
    func set() { flag.store(true, ordering: .relaxed) }
}

/// Wakes a thread that waits in poll(2), from any other thread (eventfd(2)).
///
/// A signal stays until it is cleared, so a signal that arrives before the wait is not lost. The
/// sender changes the shared state before it raises the signal. The receiver clears the signal
/// before it reads that state. So a second signal before the first clear costs no system call.
final class WakeSignal: Sendable {
    /// The descriptor to poll for reading.
    let descriptor: Int32
    private let isRaised = Atomic(false)

    /// Creates a signal. Throws if the process may open no more descriptors.
    init() throws(Errno) {
        descriptor = try retryingLibc("eventfd", "") {
            eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        }
    }

    deinit { close(descriptor) }

    /// Wakes the waiting thread, or the next wait.
    func raise() {
        if isRaised.exchange(true, ordering: .acquiringAndReleasing) { return }
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Removes all signals so far.
    /// The caller reads the state that the signals announced after this call.
    func clear() {
        // Most iterations of a loop find no signal. The flag shows that without a system call.
        guard isRaised.load(ordering: .sequentiallyConsistent) else { return }
        var count: UInt64 = 0
        // A sender may have set the flag without having written yet.
        // Then the next wait ends at once, and the flag stays set until the written value is read.
        // The flag is not cleared before the read, because the read would then consume a signal
        // that was raised in between.
        if read(descriptor, &count, 8) == 8 {
            isRaised.store(false, ordering: .sequentiallyConsistent)
        }
    }

    /// Waits for a signal for at most this many milliseconds.
    func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
