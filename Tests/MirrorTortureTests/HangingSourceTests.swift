import MirrorTestSupport
import Testing

@testable import MirrorTorture

/// `file:` sources on a disk or a server that does not answer.
@Suite(.timeLimit(.minutes(15)))
struct HangingSourceTests {
    private let ground: Playground
    private let shelf = MemoryShelf()
    private let server: OriginServer
    private let bytes = TestBytes.make(300_000, seed: 1)

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        server = try OriginServer(responder: ShelfOrigin(shelf))
        shelf.put("/there", bytes)
    }

    private func end() {
        server.stop()
        ground.remove()
    }

    /// Runs with source files that hang in a call, and with one from the server.
    private func sync(
        hangingIn call: String, _ sizes: [Int], mirrored: Bool = false, _ options: [String] = []
    ) throws -> Command {
        var resources = [
            "{\"path\":\"Caches/there\",\"url\":\"\(server.url)/there\",\"priority\":-1}"
        ]
        for (number, size) in sizes.enumerated() {
            let name = "hangs\(number)"
            let content = TestBytes.make(size, seed: UInt64(number + 2))
            try ground.folder.write(name, content)
            shelf.put("/" + name, content)
            let path = ground.folder.full(name)
            let further = mirrored ? ",\"mirrors\":[\"\(server.url)/\(name)\"]" : ""
            resources.append(
                "{\"path\":\"Caches/\(name)\",\"url\":\"file://\(path)\"\(further)}")
        }
        let manifest = try ground.write(
            manifest: "{\"name\":\"m\",\"resources\":[" + resources.joined(separator: ",") + "]}")
        return try ground.sync(
            manifest, ["--stall-timeout", "1s", "--retries", "1"] + options,
            adding: [
                "LD_PRELOAD": try LyingDisk.path(), "XDG_RUNTIME_DIR": ground.folder.path,
                "LYING_DISK_HANGS": "\(call) \(ground.folder.full("hangs"))",
            ])
    }

    @Test(arguments: ["openat", "pread"], [900, 300_000])
    func aSourceThatHangsHasStalled(_ call: String, _ size: Int) async throws {
        defer { end() }
        let sync = try sync(hangingIn: call, [size])
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.ending == .exited(69), "\(result)")
        #expect(result.output.contains("\"code\":\"stalled\""), "\(result.output)")
        #expect(ground.root.read("Caches/there") == bytes)
        #expect(ground.parts().isEmpty, "\(ground.parts())")
    }

    @Test(arguments: ["openat", "pread"])
    func anotherSourceTakesItsPlace(_ call: String) async throws {
        defer { end() }
        let sync = try sync(hangingIn: call, [900, 300_000], mirrored: true)
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.ending == .exited(0), "\(result)")
        for (number, size) in [900, 300_000].enumerated() {
            let content = TestBytes.make(size, seed: UInt64(number + 2))
            #expect(ground.root.read("Caches/hangs\(number)") == content)
        }
    }

    /// It needs three times the limit, and brings bytes all the time.
    @Test func aSourceThatIsSlowDoesNotStall() async throws {
        defer { end() }
        let sync = try sync(hangingIn: "slow", [60_000])
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.ending == .exited(0), "\(result)")
        #expect(!result.output.contains("stalled"), "\(result.output)")
    }

    /// Its time goes on while the loop holds sockets back.
    @Test func aHangingSourceStallsBesideSlowOnes() async throws {
        defer { end() }
        let sync = try sync(hangingIn: "pread", [900], ["--limit-rate", "60KiB"])
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        let stalled = try #require(result.output.firstRange(of: "\"cause\":\"stalled\""))
        let done = try #require(result.output.firstRange(of: "\"event\":\"done\""))
        #expect(stalled.lowerBound < done.lowerBound, "\(result.output)")
    }

    /// No more threads are left behind than a few: from then on, files are not read any more.
    @Test func manySourcesThatHangEndToo() async throws {
        defer { end() }
        let sync = try sync(hangingIn: "pread", Array(repeating: 900, count: 40))
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.ending == .exited(69), "\(result)")
        #expect(result.output.contains("8 other source files have not come"))
        #expect(ground.root.read("Caches/there") == bytes)
    }

    @Test func aCancelledTransferDoesNotWait() async throws {
        defer { end() }
        let sync = try sync(hangingIn: "pread", [900], ["--stall-timeout", "1h"])
        for _ in 0..<1200 where ground.root.read("Caches/there") == nil { Pause.milliseconds(50) }
        #expect(ground.root.read("Caches/there") == bytes)
        let cancel = try ground.start(
            ["cancel", "Caches/hangs0"],
            under: ["/usr/bin/env", "XDG_RUNTIME_DIR=\(ground.folder.path)"])
        let cancelled = try await DetachedThread.run { cancel.wait(seconds: 60) }
        #expect(cancelled.ending == .exited(0), "\(cancelled)")
        let result = try await DetachedThread.run { sync.wait(seconds: 60) }
        #expect(result.output.contains("\"code\":\"cancelled\""), "\(result)")
        #expect(result.output.contains("\"event\":\"summary\""), "\(result)")
    }
}
