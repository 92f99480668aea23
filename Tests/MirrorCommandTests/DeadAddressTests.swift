import Glibc
import MirrorTestSupport
import Testing

/// A name with two addresses, of which the first never answers.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "needs mounts of its own"))
struct DeadAddressTests {
    /// Serves at 127.0.0.2. At 127.0.0.1, which comes first (RFC 6724 §6, rule 9), it has a listener whose
    /// queue is full: the kernel drops whatever connects to it, as a black hole does.
    private static let script = """
        import http.server, socket, sys
        hole = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=0)
        held = [socket.socket() for _ in range(8)]
        for one in held:
            one.setblocking(False)
            one.connect_ex(hole.getsockname())
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "3000")
                self.end_headers()
                self.wfile.write(b"x" * 3000)
        server = http.server.ThreadingHTTPServer(("127.0.0.2", int(sys.argv[1])), Handler)
        print("ready", flush=True)
        server.serve_forever()
        """

    /// libcurl 7.88 goes on to the next address only when all its transfers are driven.
    @Test func theNextAddressIsTriedWithinTheFirstTry() async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let port = try #require(LoopbackPort.free())
        let servers = try Command("/usr/bin/python3", ["-c", Self.script, "\(port)"])
        defer { servers.signal(SIGKILL) }
        while !servers.outputSoFar.contains("ready"), !servers.hasEnded { usleep(20_000) }
        try ground.folder.write("hosts", Array("127.0.0.1 twofold\n127.0.0.2 twofold\n".utf8))
        let manifest = try ground.write(
            manifest: """
                { "name": "s", "resources": [
                  { "path": "Caches/a", "url": "http://twofold:\(port)/a" } ] }
                """)
        let result = try await DetachedThread.run {
            try ground.start(
                ["sync", manifest, "--json", "--retries", "0"],
                under: [
                    "/usr/bin/unshare", "-m", "/bin/sh", "-c",
                    "mount --bind \"$0\" /etc/hosts && exec \"$@\"", ground.folder.full("hosts"),
                ]
            ).wait(seconds: 100)
        }
        #expect(result.ending == .exited(0), "\(result.output) \(result.errors)")
        #expect(result.output.contains("\"fetched\":1"))
    }
}
