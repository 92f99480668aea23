/// Runs work that blocks on a thread outside Swift's cooperative pool.
enum Offload {
    /// Waits, suspended, for the work's value or error.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            NativeThread("session") { continuation.resume(with: Result { try work() }) }.detach()
        }
    }
}
