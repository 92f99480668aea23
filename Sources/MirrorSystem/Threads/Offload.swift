internal import MirrorModel
internal import Synchronization

/// Runs work that blocks on a thread outside Swift's cooperative pool.
package enum Offload {
    /// Waits, suspended, for the work's value or error.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = {
                continuation.resume(with: Result { try work() })
            }
            // Where the system gives no thread, blocking one of the pool is the lesser evil.
            if !OffloadThread.reuse(for: body), !OffloadThread.start(with: body) { body() }
        }
    }
}

/// A thread that runs one piece of work after another, and ends when none has arrived for a while.
///
/// A run offloads many short pieces in a row, and a new thread for each would cost more than they do.
private final class OffloadThread: Sendable {
    private static let idle = Mutex<[OffloadThread]>([])
    /// Seconds that an idle thread waits for more work.
    private static let patience = 1

    private let next: Mutex<(@Sendable () -> Void)?>
    private let wakeup = Semaphore()

    init(_ first: @escaping @Sendable () -> Void) { next = Mutex(first) }

    /// Hands work to an idle thread; false if there is none.
    static func reuse(for body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = idle.withLock({ $0.popLast() }) else { return false }
        thread.next.withLock { $0 = body }
        thread.wakeup.post()
        return true
    }

    /// Starts a thread with its first work; false if the system gives none.
    static func start(with body: @escaping @Sendable () -> Void) -> Bool {
        let worker = OffloadThread(body)
        guard let thread = try? NativeThread("session", { worker.run() }) else { return false }
        thread.detach()
        return true
    }

    func run() {
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
        OffloadThread.idle.withLock { $0.append(self) }
        if wakeup.wait(seconds: OffloadThread.patience) { return true }
        let isUnasked = OffloadThread.idle.withLock { idle in
            guard let place = idle.firstIndex(where: { $0 === self }) else { return false }
            idle.remove(at: place)
            return true
        }
        // Another thread claimed this one at the last moment, and its work is about to arrive.
        if !isUnasked { wakeup.wait() }
        return !isUnasked
    }
}
