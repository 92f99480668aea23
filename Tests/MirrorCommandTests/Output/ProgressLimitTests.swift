import MirrorTestSupport
import Testing

@testable import MirrorKit
@testable import mirror

/// How many progress events a script gets.
@Suite struct ProgressLimitTests {
    @Test func tenASecondAtMost() {
        var limit = ProgressLimit()
        var admitted: [Int64: Int] = [:]
        for milliseconds in stride(from: Int64(0), to: 5000, by: 7) {
            let time = Instant(milliseconds: milliseconds)
            if limit.admits(eventAt: time) { admitted[time.seconds, default: 0] += 1 }
        }
        #expect(admitted == [0: 10, 1: 10, 2: 10, 3: 10, 4: 10])
    }

    /// A body of some MiB is reported while it is verified, however fast it came.
    @Test func withoutProgressAScriptGetsNone() async throws {
        try await DetachedThread.run {
            let shelf = MemoryShelf()
            shelf.put("/a", TestBytes.make(4_000_000, seed: 1))
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            for isWanted in [true, false] {
                let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
                defer { ground.remove() }
                let manifest = try ground.write(
                    manifest:
                        "{\"name\":\"m\",\"resources\":[{\"path\":\"Caches/a\",\"url\":\"\(server.url)/a\"}]}"
                )
                let result = try ground.sync(manifest, isWanted ? [] : ["--no-progress"]).wait()
                #expect(result.ending == .exited(0), "\(result)")
                #expect(result.output.contains("\"event\":\"progress\"") == isWanted, "\(result)")
                #expect(result.output.contains("\"event\":\"done\""))
            }
        }
    }
}
