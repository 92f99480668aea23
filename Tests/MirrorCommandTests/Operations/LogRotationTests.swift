import Glibc
import MirrorTestSupport
import Testing

/// A log that is moved away while a run writes it, as logrotate does.
@Suite(.timeLimit(.minutes(10))) struct LogRotationTests {
    @Test func aHangUpOpensTheLogAnewAndTheRunGoesOn() async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        let shelf = MemoryShelf()
        // The body stops after 100,000 bytes until it is released.
        let origin = ShelfOrigin(shelf, holdingAfter: 100_000)
        let server = try OriginServer(responder: origin)
        defer {
            server.stop()
            ground.remove()
        }
        shelf.put("/a", [UInt8](repeating: 7, count: 300_000))
        let manifest = try ground.write(
            manifest:
                "{ \"name\": \"m\", \"resources\": [ { \"path\": \"Caches/a\", \"url\": \"\(server.url)/a\" } ] }"
        )
        let log = ground.folder.full("mirror.log")
        let sync = try ground.start(["sync", manifest, "--log", log, "--segments", "1"])
        for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
        #expect(rename(log, log + ".1") == 0)
        sync.signal(SIGHUP)
        for _ in 0..<1200 where ground.folder.read("mirror.log") == nil { Pause.milliseconds(50) }
        origin.release()
        let result = try await DetachedThread.run { sync.wait() }
        #expect(result.ending == .exited(0), "\(result)")
        let (old, new) = (text("mirror.log.1", in: ground), text("mirror.log", in: ground))
        #expect(old.contains("event=start"), "\(old)")
        #expect(!old.contains("event=summary"), "\(old)")
        #expect(new.contains("event=summary"), "\(new)")
    }

    /// Opening it would last for ever: the run and its limits must not wait for that.
    @Test func aPipeThatNobodyReadsDoesNotStopTheRun() async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        let shelf = MemoryShelf()
        let origin = ShelfOrigin(shelf, holdingAfter: 100_000)
        let server = try OriginServer(responder: origin)
        defer {
            server.stop()
            ground.remove()
        }
        shelf.put("/a", [UInt8](repeating: 7, count: 300_000))
        let manifest = try ground.write(
            manifest:
                "{ \"name\": \"m\", \"resources\": [ { \"path\": \"Caches/a\", \"url\": \"\(server.url)/a\" } ] }"
        )
        let log = ground.folder.full("mirror.log")
        let sync = try ground.start(["sync", manifest, "--log", log])
        for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
        #expect(unlink(log) == 0)
        #expect(mkfifo(log, 0o600) == 0)
        sync.signal(SIGHUP)
        Pause.milliseconds(500)
        origin.release()
        let result = try await DetachedThread.run { try sync.wait(seconds: 120) }
        #expect(result.ending == .exited(0), "\(result)")
    }

    private func text(_ name: String, in ground: Playground) -> String {
        String(decoding: ground.folder.read(name) ?? [], as: UTF8.self)
    }
}
