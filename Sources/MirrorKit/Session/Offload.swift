/// Runs work that blocks on a thread outside Swift's cooperative pool.
enum Offload {
    /// Waits, suspended, for the work's value or error.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = {
                continuation.resume(with: Result { try work() })
            }
            // Where the system gives no thread, blocking one of the pool is the lesser evil.
            guard let thread = try? NativeThread("session", body) else { return body() }
            thread.detach()
        }
    }
}
