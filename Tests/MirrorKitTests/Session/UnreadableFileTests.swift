import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// A file that does not stay the same while it is read concerns its own resource and no other.
@Suite(.timeLimit(.minutes(15))) struct UnreadableFileTests {
    /// A thread that keeps changing a file's times until the value goes.
    private final class Restless: Sendable {
        private let isOver = Mutex(false)

        init(_ path: String) {
            DetachedThread.start { [self] in
                while !isOver.withLock({ $0 }) { utimes(path, nil) }
            }
        }

        func end() { isOver.withLock { $0 = true } }
    }

    @Test func aFileThatKeepsChangingFailsAlone() async throws {
        let stage = try SessionStage(
            "  on GET /b\n    reply\n      HTTP/1.1 200 OK\n      @body v1\n")
        defer { stage.end() }
        // As large as it takes for a change to fall into each reading of it.
        try stage.folder.write("root/Caches/a", [])
        #expect(truncate(stage.folder.full("root/Caches/a"), 128 << 20) == 0)
        let restless = Restless(stage.folder.full("root/Caches/a"))
        defer { restless.end() }
        // On a busy machine a reading can fall between two changes: one that does not is enough.
        var plan = try await stage.session.plan(stage.manifest("a", "b"))
        for _ in 0..<50 where plan.steps[0].reason != .unreadable {
            plan = try await stage.session.plan(stage.manifest("a", "b"))
        }
        #expect(plan.steps.map(\.reason.code) == ["unreadable", "missing"])
        var endings: [String] = []
        for try await event in stage.session.execute(plan) {
            if let ending = event.ending { endings.append(ending) }
        }
        #expect(Set(endings) == ["failed a", "done b"])
        #expect(stage.read("b") == SessionStage.v1)

        let report = try await stage.session.verify([])
        #expect(report.discrepancies.isEmpty)
        var found = try await stage.session.verify([stage.manifest("a")]).discrepancies.map(\.kind)
        for _ in 0..<50 where found != [.unreadable] {
            found = try await stage.session.verify([stage.manifest("a")]).discrepancies.map(\.kind)
        }
        #expect(found == [.unreadable])
    }
}
