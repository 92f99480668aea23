import MirrorTestSupport
import Testing

/// The server that `NginxTests` trust: it must speak what they say they test.
@Suite(.enabled(if: BuiltProgram.exists(Nginx.program))) struct NginxServerTests {
    @Test func nginxServesAndLogsRequests() async throws {
        try await DetachedThread.run {
            let nginx = try Nginx()
            defer { nginx.stop() }
            try nginx.put("a.bin", Array("abcdef".utf8))
            let plain = try Command.run(
                "/usr/bin/curl", ["-sS", "-H", "Range: bytes=4-", nginx.url("http") + "/a.bin"])
            #expect(plain.output == "ef", "\(plain)")
            let secure = try Command.run(
                "/usr/bin/curl",
                ["-sS", "--http2", "--cacert", nginx.certificate, nginx.url("https") + "/a.bin"])
            #expect(secure.output == "abcdef", "\(secure)")
            #expect(
                nginx.requests(atLeast: 2) == [
                    "HTTP/1.1 GET /a.bin bytes=4- 206", "HTTP/2.0 GET /a.bin - 200",
                ])
        }
    }
}
