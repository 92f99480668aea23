internal import CTestSupport

/// Runs work that blocks on a thread of its own, away from Swift's cooperative pool.
public enum DetachedThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that runs the closure and ends.
    public static func start(_ body: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(body))
        let failure = test_start_thread(threadMain, work.toOpaque())
        precondition(failure == 0, "pthread_create(3) failed: \(failure)")
    }

    /// Runs the closure on a thread of its own and suspends until it returns.
    public static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result(catching: body)) }
        }
    }

    private static let threadMain:
        @convention(c) (UnsafeMutableRawPointer?) ->
            UnsafeMutableRawPointer? = { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }
}
