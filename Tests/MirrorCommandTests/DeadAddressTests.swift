import Glibc
import MirrorTestSupport
import Testing

/// A name with two addresses, of which the first never answers.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "needs mounts of its own"))
struct DeadAddressTests {
    /// At 127.0.0.1, which comes first (RFC 6724 §6, rule 9), is a listener whose queue is full: the
    /// kernel drops whatever connects to it, as a black hole does.
    private static let hole = """
        import http.server, socket, ssl, sys, threading, time
        port = int(sys.argv[1])
        hole = socket.create_server(("127.0.0.1", port), backlog=0)
        held = [socket.socket() for _ in range(8)]
        for one in held:
            one.setblocking(False)
            one.connect_ex(hole.getsockname())

        """

    private static let plain = """
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "3000")
                self.end_headers()
                self.wfile.write(b"x" * 3000)
        server = http.server.ThreadingHTTPServer(("127.0.0.2", port), Handler)
        print("ready", flush=True)
        server.serve_forever()
        """

    /// HTTP/2, where a connection ends with a GOAWAY after ten answers.
    private static let goingAway = """
        import h2.config, h2.connection, h2.events
        def serve(raw):
            try:
                tls = context.wrap_socket(raw, server_side=True)
                made = h2.connection.H2Connection(
                    h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
                made.initiate_connection()
                tls.sendall(made.data_to_send())
                count = 0
                while count <= 10:
                    for event in made.receive_data(tls.recv(65536)):
                        if not isinstance(event, h2.events.RequestReceived):
                            continue
                        count += 1
                        if count <= 10:
                            last = event.stream_id
                            made.send_headers(last, [(":status", "200"), ("content-length", "3")])
                            made.send_data(last, b"yes", end_stream=True)
                    tls.sendall(made.data_to_send())
                made.close_connection(last_stream_id=last)
                tls.sendall(made.data_to_send())
                time.sleep(0.2)
                tls.close()
            except OSError:
                pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2] + "/certificate.pem", sys.argv[2] + "/key.pem")
        context.set_alpn_protocols(["h2"])
        server = socket.create_server(("127.0.0.2", port))
        print("ready", flush=True)
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
        """

    /// Syncs files of a name with two addresses.
    private func sync(
        _ script: String, scheme: String, files: Int, retries: Int = 0
    ) async throws -> Command.Result {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let port = try #require(LoopbackPort.free())
        try ground.folder.makeCertificate(for: "DNS:twofold")
        let servers = try Command(
            "/usr/bin/python3", ["-c", Self.hole + script, "\(port)", ground.folder.path])
        defer { servers.signal(SIGKILL) }
        while !servers.outputSoFar.contains("ready"), !servers.hasEnded { usleep(20_000) }
        try ground.folder.write("hosts", Array("127.0.0.1 twofold\n127.0.0.2 twofold\n".utf8))
        let resources = (0..<files).map {
            "{ \"path\": \"Caches/\($0)\", \"url\": \"\(scheme)://twofold:\(port)/\($0)\" }"
        }
        let manifest = try ground.write(
            manifest: "{ \"name\": \"s\", \"resources\": [\(resources.joined(separator: ","))] }")
        return try await DetachedThread.run {
            try ground.start(
                [
                    "sync", manifest, "--json", "--retries", "\(retries)", "--cacert",
                    ground.folder.full("certificate.pem"),
                ],
                under: [
                    "/usr/bin/unshare", "-m", "/bin/sh", "-c",
                    "mount --bind \"$0\" /etc/hosts && exec \"$@\"", ground.folder.full("hosts"),
                ]
            ).wait(seconds: 100)
        }
    }

    /// libcurl 7.88 goes on to the next address only when all its transfers are driven.
    @Test func theNextAddressIsTriedWithinOneAttempt() async throws {
        let result = try await sync(Self.plain, scheme: "http", files: 1)
        #expect(result.ending == .exited(0), "\(result.output) \(result.errors)")
        #expect(result.output.contains("\"fetched\":1"))
    }

    /// A request that opens a further socket must not wait for its own first one.
    @Test(.enabled(if: OddOrigin.isPossible, "needs python3-h2"))
    func http2AlsoReachesTheNextAddress() async throws {
        let result = try await sync(Self.goingAway, scheme: "https", files: 15, retries: 2)
        #expect(result.ending == .exited(0), "\(result.output) \(result.errors)")
        #expect(result.output.contains("\"fetched\":15"))
    }
}
