@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// A token that a server refuses in the middle of a run is asked for again.
@Suite(.timeLimit(.minutes(5))) struct RenewedCredentialsTests {
    /// Supplies `Bearer 1`, `Bearer 2` and so on.
    private final class Tokens: Sendable {
        private let count = Mutex(0)
        var asked: Int { count.withLock { $0 } }

        func next() throws -> [HeaderField] {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return [
                try HeaderField(name: "Authorization", value: Template(literal: "Bearer \(number)"))
            ]
        }
    }

    private func options(_ tokens: Tokens) -> RunOptions {
        var options = RunOptions()
        options.credentials = { _ in try tokens.next() }
        return options
    }

    /// The loop has `b` with the old token already, and that is not asked for twice.
    @Test func anExpiredTokenIsRenewed() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                need Authorization: Bearer 1
                reply
                  HTTP/1.1 401 Unauthorized
                  Content-Length: 0
              on GET /a
                need Authorization: Bearer 2
                reply
                  HTTP/1.1 200 OK
                  @body v1
              on GET /b
                need Authorization: Bearer 1
                reply
                  HTTP/1.1 401 Unauthorized
                  Content-Length: 0
              on GET /b
                need Authorization: Bearer 2
                reply
                  HTTP/1.1 200 OK
                  @body v2
            """, jobs: 1)
        defer { stage.end() }
        let tokens = Tokens()
        let summary = try await stage.session.sync(
            stage.manifest("a", "b"), options: options(tokens))
        #expect(summary.exit == 0)
        #expect(summary.requests == 4)
        #expect(tokens.asked == 2)
        #expect(stage.read("a") == SessionStage.v1)
        #expect(stage.read("b") == SessionStage.v2)
        #expect(stage.scenario.script.complaints == [])
    }

    /// A person who does not want to log in is asked once, and not about each file.
    @Test func aSupplierThatThrowsIsAskedOnce() async throws {
        let names = ["a", "b", "c"]
        let stage = try SessionStage(
            names.map {
                """
                  on always GET /\($0)
                    reply
                      HTTP/1.1 401 Unauthorized
                      Content-Length: 0
                """
            }.joined(separator: "\n"), jobs: 1)
        defer { stage.end() }
        struct Refused: Error {}
        let tokens = Tokens()
        var options = RunOptions()
        options.credentials = { _ in
            let first = try tokens.next()
            if tokens.asked > 1 { throw Refused() }
            return first
        }
        let summary = try await stage.session.sync(
            stage.manifest("a", "b", "c"), options: options)
        #expect(summary.exit == 1)
        #expect(tokens.asked == 2)
    }

    /// What had come by then stays.
    @Test func anExpiredTokenCostsNoByte() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                no Range
                reply
                  HTTP/1.1 200 OK
                  ETag: "v1"
                  @body v1 cut 150000
                  @close
              on GET /a
                need Range: bytes=150000-
                need Authorization: Bearer 1
                reply
                  HTTP/1.1 401 Unauthorized
                  Content-Length: 0
              on GET /a
                need Range: bytes=150000-
                need Authorization: Bearer 2
                reply
                  HTTP/1.1 206 Partial Content
                  ETag: "v1"
                  @range v1 150000-
            """)
        defer { stage.end() }
        let tokens = Tokens()
        let summary = try await stage.session.sync(stage.manifest("a"), options: options(tokens))
        #expect(summary[.fetched] == 1)
        #expect(summary.bytesReceived == 300_000)
        #expect(tokens.asked == 2)
        #expect(stage.read("a") == SessionStage.v1)
        #expect(stage.scenario.script.complaints == [])
    }

    @Test func aServerThatRefusesTokensIsAskedOnce() async throws {
        let replies = ["a", "b", "c"].map { name in
            """
              on always GET /\(name)
                reply
                  HTTP/1.1 401 Unauthorized
                  Content-Length: 0
            """
        }
        let stage = try SessionStage(replies.joined(separator: "\n"), jobs: 2)
        defer { stage.end() }
        let tokens = Tokens()
        let summary = try await stage.session.sync(
            stage.manifest("a", "b", "c"), options: options(tokens))
        #expect(summary[.failed] == 3)
        #expect(summary.exit == 1)
        #expect(tokens.asked == 2)
    }

    @Test func theProgramsErrorIsInTheFailure() async throws {
        struct NoToken: Error, CustomStringConvertible {
            let description = "the refresh token has expired."
        }
        let (stage, tokens) = (try refusing(), Tokens())
        defer { stage.end() }
        var options = RunOptions()
        options.credentials = { _ in
            if tokens.asked > 0 { throw NoToken() }
            return try tokens.next()
        }
        var errors: [MirrorError] = []
        let plan = try await stage.session.plan(stage.manifest("a"))
        for try await event in stage.session.execute(plan, options: options) {
            if case .failed(let failed) = event.body { errors.append(failed.error) }
        }
        #expect(errors.map(\.status) == [401])
        #expect(errors.first?.message.contains("the refresh token has expired (from") == true)
    }

    @Test func anEndingRunDoesNotWaitForRenewal() async throws {
        let (stage, tokens) = (try refusing(), Tokens())
        defer { stage.end() }
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        let (asked, again) = AsyncStream.makeStream(of: Void.self)
        var options = RunOptions()
        options.credentials = { _ in
            let token = try tokens.next()
            guard tokens.asked > 1 else { return token }
            again.finish()
            // It does not heed that its task is cancelled.
            await Task.detached { for await _ in never {} }.value
            return token
        }
        let plan = try await stage.session.plan(stage.manifest("a"))
        let run = stage.session.execute(plan, options: options)
        let reading = Task { for try await _ in run {} }
        for await _ in asked {}
        run.cancel()
        await #expect(throws: MirrorError.self) { try await reading.value }
        #expect(run.earlySummary != nil)
    }

    private func refusing() throws -> SessionStage {
        try SessionStage(
            """
              on always GET /a
                reply
                  HTTP/1.1 401 Unauthorized
                  Content-Length: 0
            """)
    }
}
