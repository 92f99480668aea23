import Glibc
import MirrorTestSupport
import Testing

/// Reports that go into a pipe which nobody reads: no run waits for a reader for ever.
@Suite(.timeLimit(.minutes(10))) struct PipesForReportsTests {
    private let ground: Playground
    private let origin: ShelfOrigin
    private let server: OriginServer
    private let pipe: String

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        let shelf = MemoryShelf()
        for name in ["/a", "/b"] { shelf.put(name, [UInt8](repeating: 7, count: 300_000)) }
        origin = ShelfOrigin(shelf, holdingAfter: 100_000)
        server = try OriginServer(responder: origin)
        pipe = ground.folder.full("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
    }

    private func end() {
        origin.release()
        server.stop()
        ground.remove()
    }

    private func manifest(of names: String...) throws -> String {
        let resources = names.map { "{\"path\":\"Caches/\($0)\",\"url\":\"\($0)\"}" }
        return try ground.write(
            manifest: "{\"name\":\"m\",\"base\":\"\(server.url)/\",\"resources\":["
                + resources.joined(separator: ",") + "]}")
    }

    @Test func unreadCommandsEndAtTheirDeadline() async throws {
        defer { end() }
        let reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let page = [UInt8](repeating: 0, count: 4096)
        while write(reader, page, page.count) > 0 {}
        // It waits for its manifest, and has written nothing: the last words are the first.
        let never = ground.folder.full("never")
        try #require(mkfifo(never, 0o600) == 0)
        let sync = try ground.start(
            ["sync", "-", "--json", "--deadline", "1s"],
            under: ["/bin/sh", "-c", "exec \"$@\" 0<>'\(never)' > '\(pipe)' 2>&1", "sh"])
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.ending == .exited(69))
    }

    @Test func withoutALogReaderAWatchSyncsOn() async throws {
        defer { end() }
        origin.release()
        let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let watch = try ground.start([
            "watch", try manifest(of: "a"), "--log", pipe, "--every", "1h",
        ])
        for _ in 0..<1200 where ground.root.read("Caches/a") == nil { Pause.milliseconds(50) }
        // The pipe of the first sync is closed once it has ended.
        var byte: [UInt8] = [0]
        for _ in 0..<60_000 where read(reader, &byte, 1) != 0 {
            if errno == EAGAIN { Pause.milliseconds(10) }
        }
        close(reader)
        _ = try manifest(of: "a", "b")
        watch.signal(SIGHUP)
        for _ in 0..<1200 where ground.root.read("Caches/b") == nil { Pause.milliseconds(50) }
        #expect(ground.root.read("Caches/b")?.count == 300_000)
        Pause.milliseconds(500)
        watch.signal(SIGTERM)
        let result = try await DetachedThread.run { watch.wait(seconds: 60) }
        #expect(result.errors.contains("the log cannot be opened"), "\(result)")
    }

    @Test func metricsAreNotReadFromAPipe() async throws {
        defer { end() }
        origin.release()
        let sync = try ground.start(["sync", try manifest(of: "a"), "--metrics", pipe])
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.ending == .exited(0), "\(result)")
        #expect(result.errors.contains("The metrics were not written"), "\(result)")
    }
}
