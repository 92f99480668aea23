internal import CLinux
internal import Glibc
internal import MirrorModel
internal import Synchronization

/// A thread of the system, for work that blocks and so has no place on the cooperative pool.
package struct NativeThread: Sendable {
    private let thread: pthread_t

    /// Starts a thread; the kernel cuts `name` to 15 bytes. Throws if the system refuses another
    /// thread (pthread_create(3)).
    package init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
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

    /// Waits until the thread has ended; call it once.
    package func join() { pthread_join(thread, nil) }

    /// Detaches the thread, so that no call waits for its end. Call it once, instead of `join`.
    package func detach() { pthread_detach(thread) }

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
/// Each of its objects is such a thread. It runs one piece of work after another, and ends when none has
/// arrived for a while. A run offloads many short pieces in a row, and a new thread for each would cost
/// more than they do.
package final class Offload: Sendable {
    /// Waits, suspended, for the work's value or error.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = {
                continuation.resume(with: Result { try work() })
            }
            // Where the system gives no thread, blocking one of the pool is the lesser evil.
            if !reuse(for: body), !start(with: body) { body() }
        }
    }

    private static let idle = Mutex<[Offload]>([])
    /// Seconds that an idle thread waits for more work.
    private static let patience = 1

    private let next: Mutex<(@Sendable () -> Void)?>
    private let wakeup = Semaphore()

    private init(_ first: @escaping @Sendable () -> Void) { next = Mutex(first) }

    /// Hands work to an idle thread; false if there is none.
    private static func reuse(for body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = idle.withLock({ $0.popLast() }) else { return false }
        thread.next.withLock { $0 = body }
        thread.wakeup.post()
        return true
    }

    /// Starts a thread with its first work; false if the system gives none.
    private static func start(with body: @escaping @Sendable () -> Void) -> Bool {
        let worker = Offload(body)
        guard let thread = try? NativeThread("session", { worker.run() }) else { return false }
        thread.detach()
        return true
    }

    private func run() {
        repeat { runNext() } while waitForWork()
    }

    /// Runs a piece of work, and holds nothing of it afterwards: it may be the last to know a descriptor
    /// or a lock, and the thread may live as long as a watch sleeps.
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
        // Another thread claimed this one at the last moment, and its work is about to arrive.
        if !isUnasked { wakeup.wait() }
        return !isUnasked
    }
}

extension NativeThread {
    /// Does one piece of work on this thread and the other on a new one, and waits for both.
    ///
    /// If the system grants no more threads, this one does both. `thread` names the other one; the
    /// kernel cuts that to 15 bytes.
    package static func both<First, Second: Sendable>(
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

/// A request to work that blocks a thread: its result is no longer wanted.
package final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// A flag that is not set.
    package init() {}

    /// Whether the work should stop.
    package var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Asks the work to stop.
    package func set() { flag.store(true, ordering: .relaxed) }
}

/// Wakes a thread that waits in poll(2), from any other thread (eventfd(2)).
///
/// A signal stays until it is cleared, so one that arrives before the wait is not lost. The sender
/// changes the shared state before it raises the signal; the receiver clears the signal before it
/// reads that state. So a second signal before the first clear costs no system call.
package final class WakeSignal: Sendable {
    /// To be polled for reading.
    package let descriptor: Int32
    private let isRaised = Atomic(false)

    /// Throws where the process has as many descriptors as it may.
    package init() throws(Errno) {
        descriptor = try retryingLibc("eventfd", "") {
            eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        }
    }

    deinit { close(descriptor) }

    /// Wakes the waiting thread, or the next wait.
    package func raise() {
        if isRaised.exchange(true, ordering: .acquiringAndReleasing) { return }
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Forgets all signals so far. The caller reads the state that they announced after this call.
    package func clear() {
        // Most iterations of a loop find no signal, and need no system call to learn it.
        guard isRaised.load(ordering: .sequentiallyConsistent) else { return }
        var count: UInt64 = 0
        // A sender may have set the flag and not written yet. Then the next wait ends at once, and the
        // flag stays until the written value is read. The flag is not cleared before the read, because
        // the read would then consume a signal that was raised in between.
        if read(descriptor, &count, 8) == 8 {
            isRaised.store(false, ordering: .sequentiallyConsistent)
        }
    }

    /// Waits for a signal for at most this many milliseconds.
    package func wait(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
