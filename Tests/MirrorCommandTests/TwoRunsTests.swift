import MirrorTestSupport
import Testing

/// One root has one writer.
@Suite(.timeLimit(.minutes(15)))
struct TwoRunsTests {
    /// A run that lasts until the test lets it end, and what a second one does meanwhile.
    private func meanwhile(
        _ body:
            @escaping @Sendable (Playground, _ manifest: String, _ first: Command) throws -> Void
    ) async throws {
        try await DetachedThread.run {
            let scenario = try ScenarioServer(
                """
                Held until a second request comes
                bytes v1 = 1000 seed=1
                phase one
                  on GET /a.bin
                    reply
                      @requests 2
                      HTTP/1.1 200 OK
                      @body v1
                  on always GET /release
                    reply
                      HTTP/1.1 204 No Content
                  sync
                """)
            defer { scenario.server.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let path = try ground.write(
                manifest: """
                    {"name":"t","resources":[{"path":"Caches/a.bin","refresh":"never",
                      "url":"\(scenario.server.url)/a.bin"}]}
                    """)
            let first = try ground.sync(path)
            while scenario.script.requests.isEmpty { Pause.milliseconds(5) }
            try body(ground, path, first)
            _ = try Command.run("/usr/bin/curl", ["-s", scenario.server.url + "/release"])
            #expect(first.wait().ending == .exited(0))
            #expect(ground.root.read("Caches/a.bin")?.count == 1000)
        }
    }

    @Test func secondRunSaysWhoHoldsTheLock() async throws {
        try await meanwhile { ground, manifest, first in
            let second = try ground.sync(manifest).wait(seconds: 20)
            #expect(second.ending == .exited(75))
            #expect(second.errors.contains(String(first.pid)), "\(second.errors)")
        }
    }

    @Test func readersTakeNoLock() async throws {
        try await meanwhile { ground, manifest, _ in
            for verb in ["plan", "status"] {
                let reader = try ground.start(verb, manifest).wait(seconds: 20)
                #expect(reader.ending == .exited(0), "\(verb): \(reader)")
            }
        }
    }

    @Test func secondRunWaitsForTheLock() async throws {
        try await DetachedThread.run {
            let shelf = MemoryShelf()
            shelf.put("/a.bin", TestBytes.make(400_000, seed: 1))
            let origin = ShelfOrigin(shelf, bytesPerSecond: 400_000)
            let server = try OriginServer(responder: origin)
            defer { server.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let path = try ground.write(
                manifest: """
                    {"name":"t","resources":[{"path":"Caches/a.bin","refresh":"never",
                      "url":"\(server.url)/a.bin"}]}
                    """)
            let first = try ground.sync(path)
            while origin.requests.isEmpty { Pause.milliseconds(5) }
            let second = try ground.sync(path, ["--wait", "30s"]).wait(seconds: 40)
            #expect(first.wait().ending == .exited(0))
            #expect(second.ending == .exited(0), "\(second)")
            #expect(second.summary("kept") == "1")
            #expect(origin.requests.count == 1)
        }
    }

    @Test func lockOfADeadRunIsTakenOver() async throws {
        try await DetachedThread.run {
            let scenario = try ScenarioServer(
                """
                Held for ever
                phase one
                  on always GET /a.bin
                    reply
                      @hold
                  sync
                """)
            defer { scenario.server.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let url = scenario.server.url
            let path = try ground.write(
                manifest: "{\"resources\":[{\"path\":\"Caches/a\",\"url\":\"\(url)/a.bin\"}]}")
            let held = try ground.sync(path)
            while scenario.script.requests.isEmpty { Pause.milliseconds(5) }
            held.signal(9)
            #expect(held.wait().ending == .signalled(9))
            let next = try ground.sync(path, ["--offline"]).wait()
            #expect(next.ending == .exited(69), "\(next)")
        }
    }
}
