import MirrorTestSupport
import Testing

/// The test origins themselves, held against curl(1): a lie must be the one that was written down.
@Suite(.enabled(if: BuiltProgram.exists("/usr/bin/curl"))) struct OriginTests {
    private func curl(_ arguments: String...) async throws -> Command.Result {
        try await DetachedThread.run {
            try Command.run("/usr/bin/curl", ["-sS", "-i"] + arguments, seconds: 20)
        }
    }

    private func serve(_ scenario: String) throws -> ScenarioServer {
        try ScenarioServer(
            """
            A title

            bytes v1 = 1000 seed=1
            bytes hello = "hello"
            bytes letters = "abcdef"

            phase one
            \(scenario)
              sync
            """)
    }

    @Test func originSendsTheReplyByteForByte() async throws {
        let scenario = try serve(
            """
              on GET /a
                need Accept: */*
                no Range
                reply
                  HTTP/1.1 203 Odd
                  ETag: W/"x"
                  @body hello
            """)
        defer { scenario.server.stop() }
        let result = try await curl(scenario.server.url + "/a")
        #expect(
            result.output
                == "HTTP/1.1 203 Odd\r\nETag: W/\"x\"\r\nContent-Length: 5\r\n\r\nhello")
        #expect(scenario.script.complaints.isEmpty)
    }

    @Test func originReportsUnexpectedAndMissingRequests() async throws {
        let scenario = try serve(
            """
              on GET /a
                need If-Range: "x"
                reply
                  HTTP/1.1 204 No Content
              on GET /never
                reply
                  HTTP/1.1 204 No Content
            """)
        defer { scenario.server.stop() }
        _ = try await curl(scenario.server.url + "/a", scenario.server.url + "/b")
        let complaints = scenario.script.complaints
        #expect(complaints.count == 3)
        #expect(complaints.contains { $0.contains("If-Range is []") })
        #expect(complaints.contains { $0.contains("unexpected request: GET /b") })
        #expect(complaints.contains { $0.contains("GET /never never came") })
    }

    /// curl(1): 18 is a partial file, 56 a failure in receiving data (the RST).
    @Test(arguments: [("@close", 18), ("@reset", 56)])
    func originClosesTheConnectionAfterTheCut(_ ending: String, _ status: Int32) async throws {
        let scenario = try serve(
            """
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  @body v1 cut 400
                  \(ending)
            """)
        defer { scenario.server.stop() }
        let result = try await curl(
            "-o", "/dev/null", "-w", "%{size_download}", scenario.server.url + "/a")
        #expect(result.ending == .exited(status))
        #expect(result.output.hasSuffix("400"))
    }

    @Test func chunksTrailersAndEarlyHintsAreFramed() async throws {
        let scenario = try serve(
            """
              on GET /a
                reply
                  HTTP/1.1 103 Early Hints
                  Link: </x>
                  HTTP/1.1 200 OK
                  Transfer-Encoding: chunked
                  @chunked letters 4
                  @text "0\\r\\nETag: \\"false\\"\\r\\n\\r\\n"
            """)
        defer { scenario.server.stop() }
        let result = try await curl("--raw", scenario.server.url + "/a")
        #expect(
            result.output.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200"))
        #expect(result.output.contains("4\r\nabcd\r\n2\r\nef\r\n0\r\nETag: \"false\"\r\n"))
    }

    @Test func encodedBodyIsGzip() async throws {
        let scenario = try ScenarioServer(
            """
            A title
            bytes plain = "the same text"
            bytes packed = gzip plain
            phase one
              on GET /a
                reply
                  HTTP/1.1 200 OK
                  Content-Encoding: gzip
                  @body packed
              sync
            """)
        defer { scenario.server.stop() }
        let result = try await curl("--compressed", scenario.server.url + "/a")
        #expect(result.output.hasSuffix("the same text"))
    }

    @Test(arguments: [
        ("bytes=4-", "206", "efghij"), ("bytes=2-3", "206", "cd"), ("bytes=10-", "416", ""),
        ("bytes=x", "416", ""),
    ])
    func shelfAnswersRangeRequests(_ range: String, _ status: String, _ body: String) async throws {
        let shelf = MemoryShelf()
        shelf.put("/a", Array("abcdefghij".utf8))
        let origin = ShelfOrigin(shelf)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let result = try await curl("-H", "Range: \(range)", server.url + "/a")
        #expect(result.output.hasPrefix("HTTP/1.1 \(status)"))
        #expect(result.output.hasSuffix("\r\n\r\n" + body))
        #expect(origin.requests == ["GET /a \(range) \(status)"])
    }

    @Test func shelfAnswers304OnlyForItsOwnVersion() async throws {
        let shelf = MemoryShelf()
        shelf.put("/a", Array("one".utf8))
        let old = try #require(shelf.item(at: "/a")).entityTag
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let same = try await curl("-H", "If-None-Match: \(old)", server.url + "/a")
        #expect(same.output.hasPrefix("HTTP/1.1 304"))
        shelf.put("/a", Array("two".utf8))
        let changed = try await curl(
            "-H", "If-Range: \(old)", "-H", "Range: bytes=1-", server.url + "/a")
        #expect(changed.output.hasPrefix("HTTP/1.1 200"))
        #expect(changed.output.hasSuffix("two"))
    }
}
