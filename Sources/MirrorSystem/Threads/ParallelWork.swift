internal import Synchronization

/// Two pieces of work at the same time.
package enum ParallelWork {
    /// Does one piece on this thread and the other on a thread of its own, and waits for both.
    ///
    /// If the system grants no more threads, this one does both. `thread` names the other one; the
    /// kernel cuts that to 15 bytes.
    package static func both<First, Second: Sendable>(
        _ first: () -> First, and second: @escaping @Sendable () -> Second, thread: String
    ) -> (First, Second) {
        let piece = Piece(second)
        guard let other = try? NativeThread(thread, { piece.work() }) else {
            return (first(), second())
        }
        let value = first()
        other.join()
        return (value, piece.result())
    }

    /// The piece of the other thread, and what it came to.
    private final class Piece<Value: Sendable>: Sendable {
        private let body: @Sendable () -> Value
        private let value = Mutex<Value?>(nil)

        init(_ body: @escaping @Sendable () -> Value) { self.body = body }

        func work() {
            let done = body()
            value.withLock { $0 = done }
        }

        /// The result, once the thread has ended.
        func result() -> Value { value.withLock { $0.take() } ?? body() }
    }
}
