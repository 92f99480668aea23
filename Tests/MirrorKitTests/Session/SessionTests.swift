import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// The library as an app uses it: plan, execute, look up, and what is thrown when.
@Suite(.timeLimit(.minutes(15))) struct SessionTests {
    private static let whole = """
          on GET /a
            reply
              HTTP/1.1 200 OK
              ETag: "v1"
              @body v1
        """

    @Test func syncReturnsTheSummary() async throws {
        let stage = try SessionStage(SessionTests.whole)
        defer { stage.end() }
        let summary = try await stage.session.sync(stage.manifest("a"))
        #expect(summary.exit == 0)
        #expect(summary[.fetched] == 1)
        #expect(summary.requests == 1)
        #expect(stage.read("a") == SessionStage.v1)
        #expect(stage.scenario.script.complaints == [])
    }

    @Test func planSendsNoRequestAndMakesNoFile() async throws {
        let stage = try SessionStage("")
        defer { stage.end() }
        let plan = try await stage.session.plan(stage.manifest("a"))
        #expect(plan.steps.map(\.kind) == [.fetch])
        #expect(stage.scenario.script.requests.isEmpty)
        #expect(stage.folder.entries().isEmpty)
    }

    @Test func theLastEventIsTheSummary() async throws {
        let stage = try SessionStage(SessionTests.whole)
        defer { stage.end() }
        let plan = try await stage.session.plan(stage.manifest("a"))
        var names: [String] = []
        for try await event in stage.session.execute(plan) {
            switch event.body {
            case .plan: names.append("plan")
            case .start: names.append("start")
            case .done: names.append("done")
            case .summary: names.append("summary")
            default: break
            }
        }
        #expect(names == ["plan", "start", "done", "summary"])
    }

    /// Not a byte of it, and not its time either: a backup need not take it again.
    @Test func anIdleRunLeavesTheIndexAlone() async throws {
        let stage = try SessionStage(SessionTests.whole)
        defer { stage.end() }
        var resource = try stage.resource("a")
        resource.refresh = .never
        let manifest = Manifest(name: "stage", resources: [resource])
        try await stage.session.sync(manifest)
        let index = stage.folder.full("root/.mirror/index.sqlite")
        var before = stat()
        var after = stat()
        #expect(stat(index, &before) == 0)
        let summary = try await stage.session.sync(manifest)
        #expect(summary[.kept] == 1)
        #expect(stat(index, &after) == 0)
        #expect(before.st_mtim.tv_sec == after.st_mtim.tv_sec)
        #expect(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec)
        #expect(!stage.folder.entries().contains { $0.name.hasSuffix("-wal") })
    }

    @Test func aFetchedFileCanBeLookedUp() async throws {
        let stage = try SessionStage(SessionTests.whole)
        defer { stage.end() }
        let target = try Target("Caches/a")
        #expect(try await stage.session.lookup(target) == nil)
        try await stage.session.sync(stage.manifest("a"))
        let file = try #require(await stage.session.lookup(target))
        #expect(file.state == .intact)
        #expect(file.size == 300_000)
        #expect(file.sha256?.hex == Checksum.sha256(SessionStage.v1))
        #expect(stage.session.path(of: target) == stage.folder.full("root/Caches/a"))
        try stage.folder.write("root/Caches/a", [1])
        #expect(try await stage.session.lookup(target)?.state == .changed)
    }

    @Test func failedResourceIsAnEventAndNotThrown() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  HTTP/1.1 404 Not Found
                  Content-Length: 0
            """)
        defer { stage.end() }
        let summary = try await stage.session.sync(stage.manifest("a"))
        #expect(summary.exit == 1)
        #expect(summary[.failed] == 1)
    }

    @Test func aLockedRootIsThrown() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  @requests 2
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        let manifest = try stage.manifest("a")
        let first = Task { try await stage.session.sync(manifest) }
        try await stage.requests(1)
        let second = try MirrorSession(root: stage.folder.full("root"))
        let error = await #expect(throws: MirrorError.self) { try await second.sync(manifest) }
        #expect(error?.code == .locked)
        try await stage.knock()
        #expect(try await first.value.exit == 0)
    }

    @Test func aTargetThatIsInFlightIsJoined() async throws {
        let stage = try SessionStage(
            """
              on GET /a
                reply
                  @requests 2
                  HTTP/1.1 200 OK
                  @body v1
            """)
        defer { stage.end() }
        let manifest = try stage.manifest("a")
        let plan = try await stage.session.plan(manifest)
        let first = Task { try await SessionTests.endings(stage.session.execute(plan)) }
        try await stage.requests(1)
        var second = stage.session.execute(plan).makeAsyncIterator()
        while let event = try await second.next() { if case .plan = event.body { break } }
        // The second run takes its place in line right after this event, on its own thread; nothing
        // tells when it has, and a busy machine may need a moment.
        try await Task.sleep(for: .seconds(1))
        try await stage.knock()
        #expect(try await first.value == ["done a"])
        var endings: [String] = []
        while let event = try await second.next() { endings += event.ending.map { [$0] } ?? [] }
        #expect(endings == ["done a"])
        #expect(stage.scenario.script.requests.filter { $0.path == "/a" }.count == 1)
        #expect(stage.read("a") == SessionStage.v1)
    }

    private static func endings(_ run: Run) async throws -> [String] {
        var endings: [String] = []
        for try await event in run { endings += event.ending.map { [$0] } ?? [] }
        return endings
    }
}

/// A sync of what a path or a URL names.
@Suite(.timeLimit(.minutes(15))) struct NamedManifestTests {
    @Test(arguments: [true, false]) func aNamedManifestIsReadAndSynced(isURL: Bool) async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/a.bin", [1, 2, 3])
        let json = """
            {"name":"m","resources":[{"path":"Caches/a.bin","url":"\(resource.primary.url)"}]}
            """
        try rig.folder.write(Array(json.utf8), to: "m.json")
        rig.shelf.put("/m.json", Array(json.utf8))
        let source = isURL ? rig.server.url + "/m.json" : rig.folder.path + "/m.json"
        let summary = try await rig.session.sync(contentsOf: source)
        #expect(summary.exit == 0)
        #expect(summary[.fetched] == 1)
        #expect(rig.bytes("Caches/a.bin") == [1, 2, 3])
    }
}
