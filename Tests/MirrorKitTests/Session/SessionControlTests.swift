@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// Ending, pausing and leaving: what a run does when someone no longer wants it, or not now.
@Suite(.timeLimit(.minutes(15))) struct SessionControlTests {
    /// Half a file, then silence; the next request must ask for the rest.
    private static let half = """
          on GET /a
            no Range
            reply
              HTTP/1.1 200 OK
              ETag: "v1"
              @body v1 cut 150000
              @hold
          on optional GET /a
            need Range: bytes=150000-
            need If-Range: "v1"
            reply
              HTTP/1.1 206 Partial Content
              ETag: "v1"
              @range v1 150000-
        """

    /// Executes a manifest of `a`, and stops in some way once bytes of it have arrived.
    private func stop(
        _ stage: SessionStage, _ body: @Sendable @escaping (MirrorSession, Run) async throws -> Bool
    ) async throws -> [String] {
        let plan = try await stage.session.plan(stage.manifest("a"))
        let run = stage.session.execute(plan)
        var endings: [String] = []
        for try await event in run {
            if case .progress(let progress) = event.body, progress.bytes == 150_000 {
                guard try await body(stage.session, run) else { break }
            }
            endings += event.ending.map { [$0] } ?? []
        }
        return endings
    }

    /// The next run finishes from the part; it waits for the lock of one that is still ending.
    private func finish(_ stage: SessionStage) async throws {
        let manifest = try stage.manifest("a")
        let next = try MirrorSession(root: stage.folder.full("root"))
        let plan = try await next.withLock(waitingSeconds: 20) { try await next.plan(manifest) }
        #expect(plan.steps.map(\.kind) == [.resume])
        let summary = try await next.sync(manifest)
        #expect(summary[.resumed] == 1)
        #expect(summary.bytesReused == 150_000)
        #expect(stage.read("a") == SessionStage.v1)
        #expect(stage.scenario.script.complaints == [])
    }

    @Test func leavingTheLoopKeepsTheParts() async throws {
        let stage = try SessionStage(SessionControlTests.half)
        defer { stage.end() }
        _ = try await stop(stage) { _, _ in false }
        try await finish(stage)
    }

    /// Several times at once: the end of a run is where signals between threads have been lost.
    @Test(arguments: 0..<10)
    func cancellingTheTaskKeepsTheParts(_ round: Int) async throws {
        let stage = try SessionStage(SessionControlTests.half)
        defer { stage.end() }
        let manifest = try stage.manifest("a")
        let task = Task { try await stage.session.sync(manifest) }
        let folder = stage.folder
        try await DetachedThread.run {
            while !folder.entries(beneath: "root/tmp").contains(where: {
                folder.size($0.name) == 150_000
            }) {
                Pause.milliseconds(2)
            }
        }
        task.cancel()
        _ = await task.result
        try await finish(stage)
    }

    @Test func cancellingTheRunTellsTheSummary() async throws {
        let stage = try SessionStage(SessionControlTests.half)
        defer { stage.end() }
        await #expect(throws: MirrorError.self) {
            _ = try await stop(stage) { _, run in
                run.cancel()
                return true
            }
        }
        try await finish(stage)
    }

    @Test func cancellingATargetKeepsItsPart() async throws {
        let stage = try SessionStage(SessionControlTests.half)
        defer { stage.end() }
        let target = try Target("Caches/a")
        let endings = try await stop(stage) { session, _ in
            await session.cancel(target)
            return true
        }
        #expect(endings == ["failed a"])
        try await finish(stage)
    }

    @Test func cancellingATargetCanDiscardItsPart() async throws {
        let stage = try SessionStage(SessionControlTests.half)
        defer { stage.end() }
        let target = try Target("Caches/a")
        let endings = try await stop(stage) { session, _ in
            await session.cancel(target, discardingPart: true)
            return true
        }
        #expect(endings == ["failed a"])
        #expect(stage.parts == [])
        #expect(try await stage.session.plan(stage.manifest("a")).steps.map(\.kind) == [.fetch])
    }

    /// The bytes of `a` are sent before those of `b`; paused, it must still not end before `b`.
    @Test func aPausedTargetWaits() async throws {
        let stage = try SessionStage(
            """
              on always GET /a
                reply
                  @requests 3
                  HTTP/1.1 200 OK
                  @body v1
              on GET /b
                reply
                  @requests 4
                  HTTP/1.1 200 OK
                  @body v2
              on always GET /knock
                reply
                  HTTP/1.1 204 No Content
            """)
        defer { stage.end() }
        let target = try Target("Caches/a")
        let plan = try await stage.session.plan(stage.manifest("a", "b"))
        let run = stage.session.execute(plan)
        let knocking = Task {
            try await stage.requests(2)
            await stage.session.pause(target)
            try await stage.knock()
            try await stage.knock()
        }
        var endings: [String] = []
        for try await event in run {
            guard let ending = event.ending else { continue }
            endings.append(ending)
            if ending == "done b" { await stage.session.resume(target) }
        }
        try await knocking.value
        #expect(endings == ["done b", "done a"])
        #expect(stage.read("a") == SessionStage.v1)
    }

    @Test func aPausedTransferReportsNoProgress() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  @body v1 cut 150000
                  @hold
              on GET /b
                reply
                  HTTP/1.1 200 OK
                  @body v2 cut 150000
                  @hold
            """)
        defer { stage.end() }
        let target = try Target("Caches/a")
        let plan = try await stage.session.plan(stage.manifest("a", "b"))
        var reports = [String: Int]()
        var late = 0
        var paused: Instant?
        for try await event in stage.session.execute(plan) {
            guard case .progress(let progress) = event.body, progress.bytes == 150_000 else {
                continue
            }
            // What was told before the pause may be read after it.
            if let paused, event.time > paused {
                reports[progress.target.name, default: 0] += 1
            }
            if progress.target == target, reports["b", default: 0] >= 2 { late += 1 }
            if progress.target == target, paused == nil {
                await stage.session.pause(target)
                paused = .now
            }
            if reports["b"] == 5 { break }
        }
        // Some may have been on their way when the pause came.
        #expect(late == 0)
    }

    /// The new version of a leased file is fetched, and is promoted only when its reader is done.
    @Test func aFileThatIsReadIsNotReplaced() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  ETag: "v1"
                  @body v1
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  ETag: "v2"
                  @body v2
              on GET /b
                reply
                  @requests 3
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        try await stage.session.sync(stage.manifest("a"))
        let manifest = try stage.manifest("a", "b")
        let target = try Target("Caches/a")
        let sync = try await stage.session.withFile(target) { path in
            // A task of the body would not wait for it.
            let sync = Task.detached { try await stage.session.sync(manifest) }
            // Both answers were sent: had nothing held it back, the file could be replaced now.
            try await stage.requests(3)
            for _ in 0..<500 where stage.read("b") == nil { await Task.yield() }
            #expect(stage.read("a") == SessionStage.v1)
            return sync
        }
        #expect(try await sync.value.exit == 0)
        #expect(stage.read("a") == SessionStage.v2)
        #expect(stage.read("b") == SessionStage.v1)
    }

    /// Each reader begins before the one before it ends: each file is free now and then, and never both.
    @Test func aSetWithAlwaysReadFilesIsLeft() async throws {
        let replies = ["v1", "v2"].flatMap { version in
            ["a", "b"].map { name in
                """
                  on GET /\(name)
                    reply
                      HTTP/1.1 200 OK
                      @body \(version)
                """
            }
        }
        let stage = try SessionStage(replies.joined(separator: "\n"))
        defer { stage.end() }
        var manifest = try stage.manifest("a", "b")
        manifest.isAtomic = true
        let set = manifest
        try await stage.session.sync(set)
        let targets = try ["Caches/a", "Caches/b"].map { try Target($0) }
        let isOver = Mutex(false)
        let readers = Task {
            var release: AsyncStream<Void>.Continuation?
            var turn = 0
            while !isOver.withLock({ $0 }) {
                let (until, end) = AsyncStream.makeStream(of: Void.self)
                let (begins, begun) = AsyncStream.makeStream(of: Void.self)
                let target = targets[turn % 2]
                Task {
                    try await stage.session.withFile(target) { _ in
                        begun.finish()
                        for await _ in until {}
                    }
                }
                for await _ in begins {}
                release?.finish()
                release = end
                turn += 1
            }
            release?.finish()
        }
        let summary = try await stage.session.sync(set)
        isOver.withLock { $0 = true }
        await readers.value
        #expect(summary[.failed] == 1)
        #expect(summary.setsLeft == 1)
        #expect(["a", "b"].allSatisfy { stage.read($0) == SessionStage.v1 })
    }
}
