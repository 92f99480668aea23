internal import Glibc

/// An origin over TLS that ends answers and connections in ways which clients take for good ends.
///
/// The first part of a path says what happens to a request; its body is the path, 500 times, a line
/// each. It needs Python and its library of HTTP/2 (python3-h2).
public final class OddOrigin {
    private static let python = "/usr/bin/python3"

    /// What happens to a request.
    public enum Ending: String, CaseIterable, Sendable {
        /// Over HTTP/1.1 the end of the connection ends the body, with close_notify.
        case notice
        /// The same half way and without close_notify; a second request for the path gets `notice`.
        case cut
        /// Over HTTP/2, END_STREAM without a length.
        case ended
        /// Over HTTP/2, RST_STREAM(NO_ERROR) half way, without a length.
        case reset
        /// Over HTTP/2, RST_STREAM(HTTP_1_1_REQUIRED) instead of an answer.
        case first
        /// Over HTTP/2, GOAWAY after each answer.
        case away
        /// Over HTTP/2, GOAWAY(HTTP_1_1_REQUIRED) instead of an answer.
        case goneFirst
        /// Over HTTP/2, the first connection answers 60 requests, and refuses those that are under way then
        /// with a GOAWAY.
        case crowd
        /// Over HTTP/2, close_notify after 40 answers, and TCP is kept open.
        case kept
        /// Over HTTP/2, the first connection says nothing more after 20 answers.
        case dumb
    }

    /// Whether what it needs is here.
    public static let isPossible: Bool = {
        guard let run = try? Command.run(python, ["-c", "import h2, ssl"]) else { return false }
        return run.ending == .exited(0)
    }()

    /// The certificate that it shows, to be trusted: a PEM file's path.
    public let certificate: String
    private let place: Folder
    private let port: UInt16
    private let command: Command

    /// Starts it and waits until it accepts connections.
    ///
    /// - Parameters:
    ///   - protocols: what it offers (RFC 7301).
    ///   - demand: the version of TLS, `1.2` or `1.3`, in which it demands a client certificate; nil
    ///     demands none.
    public init(protocols: [String] = ["h2", "http/1.1"], demand: String? = nil) throws {
        place = try Folder.temporary(in: Folder.memory)
        certificate = place.full("certificate.pem")
        guard let port = LoopbackPort.free() else {
            throw SystemFailure("bind", "127.0.0.1", errno: errno)
        }
        self.port = port
        try place.makeCertificate()
        try place.write("origin.py", Array(OddOrigin.script.utf8))
        command = try Command(
            OddOrigin.python,
            [
                place.full("origin.py"), "\(port)", place.path, protocols.joined(separator: ","),
                demand ?? "",
            ])
        guard LoopbackPort.waitForServer(on: port) else {
            command.signal(SIGKILL)
            throw SystemFailure("origin.py", command.wait().errors, errno: ECONNREFUSED)
        }
    }

    /// The URL of a file whose request ends so.
    public func url(_ ending: Ending, _ name: String) -> String {
        "https://127.0.0.1:\(port)/\(ending.rawValue)/\(name)"
    }

    /// The bytes of such a file.
    public func bytes(_ ending: Ending, _ name: String) -> [UInt8] {
        Array(repeatElement(Array("/\(ending.rawValue)/\(name)\n".utf8), count: 500).joined())
    }

    /// A line a request so far: the protocol and the path.
    public var requests: [String] { lines.filter { $0.hasPrefix("HTTP/") } }

    /// How many connections were made so far.
    public var connections: Int { lines.count { $0.hasPrefix("connection") } }

    private var lines: [String] { command.outputSoFar.split(separator: "\n").map(String.init) }

    /// Ends it and deletes its folder.
    public func stop() {
        command.signal(SIGKILL)
        _ = command.wait(seconds: 10)
        place.remove()
    }

    private static let script = #"""
        import socket, ssl, sys, threading, time
        import h2.config, h2.connection, h2.events, h2.errors, h2.exceptions

        seen = set()
        connections = 0
        lock = threading.Lock()


        def say(protocol, path):
            sys.stdout.write(protocol + " " + path + "\n")
            sys.stdout.flush()


        def http1(tls):
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = tls.recv(65536)
                    if not more:
                        return
                    data += more
                head, data = data.split(b"\r\n\r\n", 1)
                path = head.split(b" ")[1].decode()
                say("HTTP/1.1", path)
                body = (path.encode() + b"\n") * 500
                if path.startswith(("/notice/", "/cut/")):
                    whole = path.startswith("/notice/") or path in seen
                    seen.add(path)
                    part = body if whole else body[:len(body) // 2]
                    tls.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + part)
                    if whole:
                        tls.unwrap()
                    return
                tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


        def http2(tls, number):
            count = 0
            made = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
            made.initiate_connection()
            tls.sendall(made.data_to_send())
            while True:
                try:
                    data = tls.recv(65536)
                except TimeoutError:
                    made.close_connection(last_stream_id=last)
                    tls.sendall(made.data_to_send())
                    return
                if not data:
                    return
                for event in made.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        path = dict(event.headers)[":path"]
                        count += 1
                        if number == 1 and path.startswith("/crowd/") and count > 60:
                            say("HTTP/2", path)
                            tls.settimeout(0.3)
                            continue
                        if number == 1 and path.startswith("/dumb/") and count > 20:
                            say("HTTP/2", path)
                            continue
                        if path.startswith("/kept/") and count > 40:
                            continue
                        last = event.stream_id
                        answer(tls, made, last, path)
                        if path.startswith("/kept/") and count == 40:
                            tls.sendall(made.data_to_send())
                            tls.settimeout(0.5)
                            try:
                                tls.unwrap()
                            except (OSError, ValueError):
                                pass
                            time.sleep(60)
                            return
                tls.sendall(made.data_to_send())


        def answer(tls, made, stream, path):
            say("HTTP/2", path)
            body = (path.encode() + b"\n") * 500
            length = [("content-length", str(len(body)))]
            if path.startswith("/goneFirst/"):
                return made.close_connection(h2.errors.ErrorCodes.HTTP_1_1_REQUIRED, last_stream_id=0)
            if path.startswith("/first/"):
                return made.reset_stream(stream, h2.errors.ErrorCodes.HTTP_1_1_REQUIRED)
            if path.startswith(("/reset/", "/ended/")):
                length = []
            made.send_headers(stream, [(":status", "200")] + length)
            if path.startswith("/reset/"):
                made.send_data(stream, body[:len(body) // 2])
                tls.sendall(made.data_to_send())
                # libcurl takes a reset in the packet of the head for a request that was refused.
                time.sleep(0.1)
                return made.reset_stream(stream, h2.errors.ErrorCodes.NO_ERROR)
            made.send_data(stream, body, end_stream=True)
            if path.startswith("/away/"):
                made.close_connection(last_stream_id=stream)


        def serve(raw):
            global connections
            try:
                tls = context.wrap_socket(raw, server_side=True)
                with lock:
                    connections += 1
                    number = connections
                say("connection", str(number))
                if tls.selected_alpn_protocol() == "h2":
                    http2(tls, number)
                else:
                    http1(tls)
            except (OSError, h2.exceptions.ProtocolError):
                pass
            finally:
                try:
                    tls.close()
                except (OSError, NameError):
                    raw.close()


        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2] + "/certificate.pem", sys.argv[2] + "/key.pem")
        context.set_alpn_protocols(sys.argv[3].split(","))
        if sys.argv[4]:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(sys.argv[2] + "/certificate.pem")
            version = ssl.TLSVersion.TLSv1_2 if sys.argv[4] == "1.2" else ssl.TLSVersion.TLSv1_3
            context.minimum_version = context.maximum_version = version
        server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
        """#
}
