import Glibc
import MirrorTestSupport
import Testing

/// A log that is moved away while a run writes it, as logrotate does.
@Suite(.timeLimit(.minutes(10))) struct LogRotationTests {
    private let ground: Playground
    private let origin: ShelfOrigin
    private let server: OriginServer
    private let manifest: String
    private let log: String

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        let shelf = MemoryShelf()
        shelf.put("/a", [UInt8](repeating: 7, count: 300_000))
        // The body stops after 100,000 bytes until it is released.
        origin = ShelfOrigin(shelf, holdingAfter: 100_000)
        server = try OriginServer(responder: origin)
        manifest = try ground.write(
            manifest:
                "{ \"name\": \"m\", \"resources\": [ { \"path\": \"Caches/a\", \"url\": \"\(server.url)/a\" } ] }"
        )
        log = ground.folder.full("mirror.log")
    }

    private func end() {
        server.stop()
        ground.remove()
    }

    @Test func aHangUpReopensTheLog() async throws {
        defer { end() }
        let sync = try ground.start(["sync", manifest, "--log", log, "--segments", "1"])
        for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
        #expect(rename(log, log + ".1") == 0)
        sync.signal(SIGHUP)
        for _ in 0..<1200 where ground.folder.read("mirror.log") == nil { Pause.milliseconds(50) }
        origin.release()
        let result = try await DetachedThread.run { sync.wait() }
        #expect(result.ending == .exited(0), "\(result)")
        let (old, new) = (text("mirror.log.1"), text("mirror.log"))
        #expect(old.contains("event=start"), "\(old)")
        #expect(!old.contains("event=summary"), "\(old)")
        #expect(new.contains("event=summary"), "\(new)")
    }

    /// Opening it would last for ever: the run and its limits must not wait for that.
    @Test func anUnreadPipeDoesNotStopARun() async throws {
        defer { end() }
        let sync = try ground.start(["sync", manifest, "--log", log])
        for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
        #expect(unlink(log) == 0)
        #expect(mkfifo(log, 0o600) == 0)
        sync.signal(SIGHUP)
        Pause.milliseconds(500)
        origin.release()
        let result = try await DetachedThread.run { sync.wait(seconds: 120) }
        #expect(result.ending == .exited(0), "\(result)")
    }

    private func text(_ name: String) -> String {
        String(decoding: ground.folder.read(name) ?? [], as: UTF8.self)
    }
}
