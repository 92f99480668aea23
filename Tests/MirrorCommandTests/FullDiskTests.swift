import MirrorTestSupport
import Testing

/// A disk of one mebibyte: what does not fit is refused, and what was there is whole.
@Suite(
    .enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"),
    .timeLimit(.minutes(15)))
struct FullDiskTests {
    /// What a run of two resources does after `small` has been fetched.
    private func outcome(
        declaring size: String = "", body: String, _ options: [String]
    ) async throws -> (result: Command.Result, requests: Int, parts: Int) {
        try await DetachedThread.run {
            let disk = try SmallFileSystem(bytes: 1 << 20)
            let scenario = try ScenarioServer(
                """
                A small file, then one that is too large
                bytes small = 20000 seed=1
                bytes big = 4000000 seed=2
                phase one
                  on GET /small
                    reply
                      HTTP/1.1 200 OK
                      @body small
                  on always GET /big
                    reply
                      HTTP/1.1 200 OK
                      ETag: "b"
                \(body)
                  sync
                """)
            defer { scenario.server.stop() }
            let ground = try Playground(
                program: BuiltProgram.path(of: "mirror"), root: disk.folder.path)
            defer { ground.remove() }
            let url = scenario.server.url
            let small = "{\"path\":\"Caches/small\",\"url\":\"\(url)/small\",\"refresh\":\"never\"}"
            let first = try ground.write(manifest: "{\"name\":\"d\",\"resources\":[\(small)]}")
            let before = try ground.sync(first, ["--min-free", "0"]).wait()
            #expect(before.ending == .exited(0), "\(before)")

            let second = try ground.write(
                manifest: "{\"name\":\"d\",\"resources\":[\(small),"
                    + "{\"path\":\"Documents/big\",\"url\":\"\(url)/big\"\(size)}]}")
            let result = try ground.sync(second, options).wait()
            #expect(
                ground.tree() == ["Caches/small": TestBytes.make(20_000, seed: 1)],
                "\(ground.tree().mapValues(\.count)) \(result)")
            return (result, scenario.script.requests.count, ground.parts().count)
        }
    }

    @Test func declaredSizeBeyondFreeSpaceIsRefusedBeforeTheFirstRequest() async throws {
        let outcome = try await outcome(
            declaring: ",\"size\":4000000", body: "      @body big",
            ["--min-free", "0"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.requests == 1)
    }

    @Test func contentLengthBeyondFreeSpaceIsRefusedAtTheHead() async throws {
        let outcome = try await outcome(
            body: "      @body big", ["--min-free", "0", "--retries", "0"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.requests == 2)
    }

    @Test func bodyThatWouldPassMinFreeIsRefused() async throws {
        let outcome = try await outcome(
            declaring: ",\"size\":10000", body: "      @body big[0-9999]",
            ["--min-free", "64MiB"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.requests == 1)
    }

    @Test func diskThatFillsUpEndsTheRunAndKeepsThePart() async throws {
        let outcome = try await outcome(
            body: """
                      Transfer-Encoding: chunked
                      @chunked big
                      @text "0\\r\\n\\r\\n"
                """,
            ["--min-free", "0", "--retries", "0"])
        #expect(outcome.result.ending == .exited(74), "\(outcome.result)")
        #expect(outcome.parts == 1)
        #expect(outcome.requests == 2)
    }
}
