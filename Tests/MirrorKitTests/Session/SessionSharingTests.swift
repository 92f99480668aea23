import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Several that want one thing: targets of one URL, runs of one session. Nobody waits for an answer
/// that does not come any more.
@Suite(.timeLimit(.minutes(15))) struct SessionSharingTests {
    private func pinned(_ stage: SessionStage, _ name: String, url: String) throws -> Resource {
        var resource = Resource(
            target: try Target("Caches/\(name)"),
            url: try SourceURL("\(stage.scenario.server.url)/\(url)", relativeTo: nil))
        let hex = Checksum.sha256(SessionStage.v1)
        resource.digests = [try #require(Digest(.sha256, hex: hex))]
        return resource
    }

    private func endings(_ run: Run) async throws -> [String] {
        var endings: [String] = []
        for try await event in run { endings += event.ending.map { [$0] } ?? [] }
        return endings
    }

    @Test func aKeptConflictLeavesTheRequestToOthers() async throws {
        let stage = try SessionStage(
            """
              on GET /u
                reply
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        try stage.folder.write("root/Caches/a", Array("somebody's".utf8))
        var configuration = Configuration()
        configuration.onConflict = .keep
        let session = try MirrorSession(
            root: stage.folder.full("root"), configuration: configuration)
        let manifest = Manifest(
            name: "stage",
            resources: [try pinned(stage, "a", url: "u"), try pinned(stage, "b", url: "u")])
        let run = session.execute(try await session.plan(manifest))
        #expect(try await endings(run) == ["failed a", "done b"])
        #expect(stage.read("b") == SessionStage.v1)
    }

    /// The second run has joined the first one's transfer of `a` when its `b` is there.
    @Test func leavingARunLeavesTargetsToOthers() async throws {
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
                  @body v2
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        let first = stage.session.execute(try await stage.session.plan(stage.manifest("a")))
        let second = try await stage.session.plan(stage.manifest("a", "b"))
        try await stage.requests(1)
        var ended: [String] = []
        for try await event in stage.session.execute(second) {
            ended += event.ending.map { [$0] } ?? []
            if event.ending == "done b" { first.cancel() }
        }
        #expect(ended == ["done b", "done a"])
        #expect(stage.read("a") == SessionStage.v1)
        await #expect(throws: MirrorError.self) { _ = try await endings(first) }
    }

    /// Like the one before, but it is the second that does not want to wait any more.
    @Test func aJoinedRunCanEndFirst() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  @requests 3
                  HTTP/1.1 200 OK
                  @body v1
              on GET /b
                reply
                  HTTP/1.1 404 Not Found
                  Content-Length: 0
              on GET /knock
                reply
                  HTTP/1.1 204 No Content
            """)
        defer { stage.end() }
        let first = stage.session.execute(try await stage.session.plan(stage.manifest("a")))
        let plan = try await stage.session.plan(stage.manifest("a", "b"))
        try await stage.requests(1)
        var options = RunOptions()
        options.failFast = true
        let second = stage.session.execute(plan, options: options)
        #expect(try await endings(second) == ["failed b"])
        #expect(!stage.folder.entries(beneath: "root/Caches").contains { $0.name.hasSuffix("a") })
        try await stage.knock()
        #expect(try await endings(first) == ["done a"])
    }

    @Test func aPlanWithServerNamesRunsTwice() async throws {
        let named = """
              on GET /u
                reply
                  HTTP/1.1 200 OK
                  Content-Disposition: attachment; filename="named"
                  @body v1
            """
        let stage = try SessionStage(named + "\n" + named)
        defer { stage.end() }
        var resource = try stage.resource("u")
        resource.isNamedByServer = true
        let manifest = Manifest(name: "stage", resources: [resource])
        let session = stage.session
        let ended = try await session.withLock {
            let plan = try await session.plan(manifest)
            return try await endings(session.execute(plan))
                + endings(session.execute(plan))
        }
        // What the first run put there is not taken for the second one's.
        #expect(ended == ["done named", "failed u"])
        #expect(stage.read("named") == SessionStage.v1)
    }

    @Test func bytesGoneFromTheTreeAreFetched() async throws {
        let once = "  on GET /u\n    reply\n      HTTP/1.1 200 OK\n      @body v1\n"
        let stage = try SessionStage(once + once)
        defer { stage.end() }
        let a = try pinned(stage, "a", url: "u")
        try await stage.session.sync(Manifest(name: "stage", resources: [a]))
        let both = Manifest(name: "stage", resources: [a, try pinned(stage, "b", url: "u")])
        let plan = try await stage.session.plan(both)
        #expect(plan.steps.map(\.kind) == [.keep, .copy])
        Folder(stage.folder.full("root/Caches")).remove()
        // What the plan keeps is gone too, and only a new plan brings it back.
        #expect(try await endings(stage.session.execute(plan)) == ["failed a", "done b"])
        #expect(stage.read("b") == SessionStage.v1)
    }

    @Test func aRunBegunWhilePausedRequestsNothing() async throws {
        let stage = try SessionStage(
            """
              on GET /knock
                reply
                  HTTP/1.1 204 No Content
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        await stage.session.pauseAll()
        var ended: [String] = []
        for try await event in stage.session.execute(
            try await stage.session.plan(stage.manifest("a")))
        {
            if case .plan = event.body {
                try await stage.knock()
                await stage.session.resumeAll()
            }
            ended += event.ending.map { [$0] } ?? []
        }
        #expect(ended == ["done a"])
        #expect(stage.scenario.script.requests.map(\.path) == ["/knock", "/a"])
    }

    @Test func runsOfASessionFollowWithoutAGap() async throws {
        let reply = "  on always GET /a\n    reply\n      HTTP/1.1 200 OK\n      @body v1\n"
        let stage = try SessionStage(reply)
        defer { stage.end() }
        let manifest = try stage.manifest("a")
        let session = stage.session
        let exits = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    _ = try await session.sync(manifest)
                    return try await session.sync(manifest).exit
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(exits == [0, 0, 0])
    }

    /// The engine of a run that ends meanwhile is not taken away from whoever reads.
    @Test func readingOutlastsTheRunThatItBeganIn() async throws {
        let stage = try SessionStage(
            "  on GET /a\n    reply\n      HTTP/1.1 200 OK\n      @body v1\n")
        defer { stage.end() }
        let session = stage.session
        try await session.sync(stage.manifest("a"))
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let target = try Target("Caches/a")
        let reader = try await session.withLock {
            let reader = Task {
                try await session.reading { view in
                    begin.finish()
                    for await _ in ended {}
                    return try view.index?.record(for: target)
                }
            }
            for await _ in begun {}
            return reader
        }
        end.finish()
        #expect(try await reader.value?.target == target)
    }
}
