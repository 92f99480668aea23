@testable import MirrorKit

extension MirrorSession {
    /// Passes the root and the index to a test, as the session's own questions get them.
    func reading<Value: Sendable>(
        _ body: (TreeView) async throws -> Value
    ) async throws -> Value {
        try await engine.reading(body)
    }

    /// Passes the engine to a test, as the session's own changes get it.
    func withEngine<Value: Sendable>(
        waitingSeconds wait: Int64, _ body: (Engine) async throws -> Value
    ) async throws -> Value {
        try await engine.using(waitingSeconds: wait, body)
    }
}
