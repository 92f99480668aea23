internal import CLinux
internal import CMicrohttpd
internal import Glibc
internal import Synchronization

/// An HTTP/1.1 server on libmicrohttpd.
///
/// A few threads have an epoll(7) each, and sendfile(2) sends parts of files. The server speaks
/// HTTP and decides nothing: `reply` gives the answers.
final class HTTPServer: @unchecked Sendable {
    /// Answers a request, or names work to do first. Any thread of the server may call it.
    ///
    /// `isRepeated` says whether the work that an earlier reply named has been done.
    typealias Reply = @Sendable (_ request: ServedRequest, _ isRepeated: Bool) -> ServerReply

    // The daemon is written once, before another thread knows of the server, and only `stop` reads
    // it.
    private var daemon: OpaquePointer?
    private let reply: Reply
    /// Called with a file that has other bytes than its answer promised.
    private let doubt: @Sendable (Descriptor) -> Void
    private let readers: WorkPool
    private let cancellation = CancellationFlag()
    private let isStopping = Mutex(false)
    private let watch: ConnectionWatch
    /// The listening socket, which belongs to the daemon once the daemon runs.
    private let socket: Int32
    /// The address of the server, with the port that the system gave.
    let address: ListenAddress

    /// Listens and begins to answer. Throws `MirrorError` with `usage` or `inputOutput`.
    init(
        at address: ListenAddress, limits: ServerLimits = ServerLimits(), reply: @escaping Reply,
        doubt: @escaping @Sendable (Descriptor) -> Void
    ) throws(MirrorError) {
        (self.reply, self.doubt) = (reply, doubt)
        var port = address.port
        do throws(Errno) {
            socket = try retrying("listen", address.description) {
                linux_internet_listen(address.host, &port)
            }
        } catch { throw HTTPServer.sentence(on: error, address) }
        readers = WorkPool(name: "server reads", threads: limits.readers)
        do throws(Errno) {
            // The first reader starts now.
            // Without a reader, libmicrohttpd's threads would do the readers' work.
            try readers.startFirst()
            watch = try ConnectionWatch(requestSeconds: limits.requestSeconds)
        } catch {
            readers.stop()
            close(socket)
            throw MirrorError(error)
        }
        self.address = ListenAddress(host: address.host, port: port)
        // libmicrohttpd divides the connections among its threads, so each thread needs at least
        // one.
        let connections = max(
            limits.threads,
            Descriptor.connections(
                wanted: limits.connections, limit: Descriptor.limit))
        var numbers = cmicrohttpd_limits(
            threads: UInt32(limits.threads), connections: UInt32(connections),
            connections_of_address: UInt32(limits.connectionsOfAddress),
            idle_seconds: UInt32(limits.idleSeconds),
            memory_of_connection: limits.memoryOfConnection)
        var callbacks = cmicrohttpd_callbacks(
            answer: HTTPServer.access, connection: HTTPServer.connection,
            completion: HTTPServer.completion, context: Unmanaged.passUnretained(self).toOpaque())
        daemon = cmicrohttpd_start(socket, &numbers, &callbacks)
        guard daemon != nil else {
            close(socket)
            readers.stop()
            watch.stop()
            throw MirrorError(
                .inputOutput,
                "\(address): libmicrohttpd does not start. End other programs, or raise the limits of this one (ulimit), then run again."
            )
        }
    }

    private static func sentence(on error: Errno, _ address: ListenAddress) -> MirrorError {
        switch error.number {
        case EADDRINUSE:
            MirrorError(
                .usage,
                "\(address): another program listens there. Choose another port; 0 is any free one."
            )
        case EADDRNOTAVAIL, EINVAL, EAFNOSUPPORT:
            MirrorError(
                .usage,
                "\(address): this machine has no such address. Choose 127.0.0.1, 0.0.0.0, or one of its own."
            )
        case EACCES:
            MirrorError(
                .usage, "\(address): ports below 1024 are for root. Choose a greater one.")
        default: MirrorError(error)
        }
    }

    /// Closes all connections and ends the threads.
    /// Call it once. All work has ended when it returns.
    func stop() {
        isStopping.withLock { $0 = true }
        cancellation.set()
        // libmicrohttpd must not be stopped while a connection waits for a reader.
        readers.stop()
        watch.stop()
        MHD_stop_daemon(daemon)
    }

    /// The value of a request's pointer in libmicrohttpd once the head has been read.
    private static let headRead = UInt(1)
    /// The value of a request's pointer once a reader has been given work.
    private static let workDone = UInt(2)

    private static let access: MHD_AccessHandlerCallback = {
        context, connection, path, method, version, _, uploaded, state in
        guard let context, let connection, let path, let method, let version, let uploaded,
            let state
        else { return .NO }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let verb = String(cString: method)
        // An answer before the body closes the connection.
        // That is right only for a method whose body the server does not want.
        let isReading = verb == "GET" || verb == "HEAD"
        if isReading, state.pointee == nil {
            state.pointee = UnsafeMutableRawPointer(bitPattern: HTTPServer.headRead)
            return .YES
        }
        if uploaded.pointee > 0 {
            // The body of a GET has no meaning (RFC 9110 §9.3.1).
            uploaded.pointee = 0
            return .YES
        }
        var request = ServedRequest(method: verb, path: String(cString: path))
        request.needsHost = strcmp(version, "HTTP/1.0") != 0
        return server.answer(connection, request, &state.pointee)
    }

    private static let connection: MHD_NotifyConnectionCallback = { context, connection, _, code in
        guard let context, let connection else { return }
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        if cmicrohttpd_begins(code) {
            server.watch.open(connection, cmicrohttpd_socket(connection))
        } else {
            server.watch.close(connection)
        }
    }

    private static let completion: MHD_RequestCompletedCallback = { context, connection, _, _ in
        guard let context, let connection else { return }
        Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue().watch.begin(connection)
    }

    private func answer(
        _ connection: OpaquePointer, _ request: ServedRequest,
        _ mark: inout UnsafeMutableRawPointer?
    ) -> MHD_Result {
        watch.end(connection)
        var request = request
        request.after = MHD_lookup_connection_value(connection, .GET_ARGUMENT_KIND, "after").map {
            String(cString: $0)
        }
        _ = withUnsafeMutablePointer(to: &request) {
            MHD_get_connection_values(connection, .HEADER_KIND, HTTPServer.collect, $0)
        }
        let isRepeated = UInt(bitPattern: mark) == HTTPServer.workDone
        switch reply(request, isRepeated) {
        case .answer(let answer, let file):
            return send(answer, file, to: connection, hasBody: request.method == "GET")
        case .work(let work):
            mark = UnsafeMutableRawPointer(bitPattern: HTTPServer.workDone)
            if wait(connection, for: work) { return .YES }
            return send(.refusal(503), nil, to: connection, hasBody: true)
        }
    }

    private static let collect: MHD_KeyValueIterator = { context, _, name, value in
        guard let context, let name, let value else { return .YES }
        let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
        let field = bytes.withMemoryRebound(to: UInt8.self) { ServedRequest.Field($0) }
        guard let field else { return .YES }
        context.assumingMemoryBound(to: ServedRequest.self).pointee
            .add(field, String(cString: value))
        return .YES
    }

    /// Suspends a connection while a reader does the work. Returns false if the server is stopping.
    private func wait(
        _ connection: OpaquePointer, for work: @escaping @Sendable (CancellationFlag) -> Void
    ) -> Bool {
        // libmicrohttpd keeps a suspended connection until any thread resumes it.
        let suspended = UInt(bitPattern: connection)
        // Under the lock, `stop` cannot end the readers between the two calls.
        // Otherwise no thread would resume the connection.
        return isStopping.withLock { isStopping in
            guard !isStopping else { return false }
            MHD_suspend_connection(connection)
            readers.submit { [self] in
                work(cancellation)
                MHD_resume_connection(OpaquePointer(bitPattern: suspended))
            }
            return true
        }
    }

    private func send(
        _ answer: ServedAnswer, _ file: Descriptor?, to connection: OpaquePointer, hasBody: Bool
    ) -> MHD_Result {
        var response: OpaquePointer?
        switch answer.body {
        case .text(let bytes):
            response = HTTPServer.text(bytes)
        case .file(let range):
            guard let file, !range.isEmpty else {
                response = HTTPServer.text([])
                break
            }
            // A short body goes out with the head.
            // In a TCP segment of its own, the body would cost both ends more than the copy.
            let isSent = hasBody && answer.status != 304
            if isSent, range.count <= WholeBody.heldBack {
                response = bytes(of: file, in: range, sha256: answer.sha256)
            } else if isSent, let sha256 = answer.sha256 {
                response = whole(file, size: range.upperBound, sha256: sha256)
                watch.send(file, upTo: range.upperBound, to: connection)
            } else {
                response = part(of: file, in: range)
                if isSent {
                    watch.send(file, upTo: range.upperBound, to: connection)
                }
            }
            if response == nil {
                return send(.refusal(503), nil, to: connection, hasBody: hasBody)
            }
        }
        guard let response else { return .NO }
        for (name, value) in answer.fields { MHD_add_response_header(response, name, value) }
        defer { MHD_destroy_response(response) }
        return MHD_queue_response(connection, UInt32(answer.status), response)
    }

    private static func text(_ bytes: [UInt8]) -> OpaquePointer? {
        var bytes = bytes
        return bytes.withUnsafeMutableBytes {
            MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
        }
    }

    /// Creates a response with bytes that this call reads.
    ///
    /// Returns nil if the file has become shorter, or if the bytes are a whole file with another
    /// digest.
    private func bytes(
        of file: Descriptor, in range: Range<Int64>, sha256: Digest?
    ) -> OpaquePointer? {
        guard let memory = malloc(range.count) else { return nil }
        let buffer = UnsafeMutableRawBufferPointer(start: memory, count: range.count)
        let count = try? file.read(into: buffer, at: range.lowerBound, path: "")
        var isRight = count == range.count
        if isRight, let sha256 {
            var hasher = ByteHasher(.sha256)
            hasher.update(UnsafeRawBufferPointer(buffer))
            isRight = hasher.finish() == sha256
            if !isRight { doubt(file) }
        }
        // libmicrohttpd frees the bytes, and sends them in one call with the head.
        if isRight,
            let response = MHD_create_response_from_buffer(range.count, memory, .RESPMEM_MUST_FREE)
        {
            return response
        }
        free(memory)
        return nil
    }

    /// Creates a response with a whole file. The body ends early if its bytes have another digest.
    private func whole(_ file: Descriptor, size: Int64, sha256: Digest) -> OpaquePointer? {
        let body = Unmanaged.passRetained(
            WholeBody(file, size: size, sha256: sha256, doubt: doubt))
        let response = MHD_create_response_from_callback(
            UInt64(size), Int(WholeBody.heldBack), HTTPServer.read, body.toOpaque(),
            HTTPServer.release)
        if response == nil { body.release() }
        return response
    }

    private static let read: MHD_ContentReaderCallback = { context, offset, buffer, room in
        guard let context, let buffer else { return cmicrohttpd_break() }
        let body = Unmanaged<WholeBody>.fromOpaque(context).takeUnretainedValue()
        let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: room)
        return body.read(into: bytes, at: Int64(offset)) ?? cmicrohttpd_break()
    }

    private static let release: MHD_ContentReaderFreeCallback = { context in
        guard let context else { return }
        Unmanaged<WholeBody>.fromOpaque(context).release()
    }

    /// Creates a response that sendfile(2) sends from the file. Returns nil if the system refuses.
    private func part(of file: Descriptor, in range: Range<Int64>) -> OpaquePointer? {
        let own = linux_duplicate(file.number)
        guard own >= 0 else { return nil }
        let response = MHD_create_response_from_fd_at_offset64(
            UInt64(range.count), own, UInt64(range.lowerBound))
        if response == nil { close(own) }
        return response
    }
}

/// The reply to a request.
enum ServerReply: Sendable {
    /// The answer, and the open file from which its body comes, if any.
    case answer(ServedAnswer, Descriptor?)
    /// Work that another thread does first. The server then asks for the reply again.
    ///
    /// The work checks the flag, and returns soon once the flag is set.
    case work(@Sendable (CancellationFlag) -> Void)
}

/// Limits on what clients can make the server hold.
struct ServerLimits: Sendable, Hashable {
    /// The number of threads that answer requests.
    var threads = 4
    /// The greatest number of connections at once. Further ones wait in the kernel's queue.
    var connections = 1024
    /// The greatest number of connections at once from one address.
    var connectionsOfAddress = 256
    /// Seconds without a byte after which the server closes a connection.
    var idleSeconds = 30
    /// Seconds within which a whole request must arrive, from the connection or the answer before
    /// it.
    var requestSeconds = 60
    /// Bytes of memory for a connection, which limit the head of a request and of an answer.
    var memoryOfConnection = 32 << 10
    /// The number of threads that read files whose bytes are in doubt.
    var readers = 2
}

/// A whole file that is sent to a client. The end is sent only if the digest is right.
///
/// A program that writes to a file in place may change bytes that were sent already, or that come
/// next. A mapped file may change without a new modification time (mmap(2)). So the server hashes
/// the bytes that it sends, and holds back the last ones until the digest is known.
final class WholeBody {
    /// How many bytes at the end wait for the digest.
    ///
    /// A body that is not longer is read into memory and sent in one call with its head. The
    /// reason: if a body fails before its first byte, libmicrohttpd 0.9 keeps the connection until
    /// it has been idle for long.
    static let heldBack: Int64 = 64 << 10

    private let file: Descriptor
    private let size: Int64
    private let sha256: Digest
    /// Called if the file has other bytes than its digest says.
    private let doubt: (Descriptor) -> Void
    private var hasher = ByteHasher(.sha256)
    private var hashed: Int64 = 0
    /// The bytes that were held back. `nil` until the digest has shown that they are right.
    private var end: [UInt8]?

    init(
        _ file: Descriptor, size: Int64, sha256: Digest, doubt: @escaping (Descriptor) -> Void
    ) {
        self.file = file
        self.size = size
        self.sha256 = sha256
        self.doubt = doubt
    }

    /// Reads the bytes at an offset, and returns their number.
    /// Returns nil if the body must end here.
    ///
    /// The offset is the sum of what earlier calls returned.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        let start = max(0, size - WholeBody.heldBack)
        if offset < start {
            let count = min(buffer.count, Int(start - offset))
            let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count))
            return offset == hashed && hash(bytes) ? count : nil
        }
        guard let end = end ?? checkedEnd(from: start) else { return nil }
        let rest = end.dropFirst(Int(offset - start)).prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }

    private func checkedEnd(from start: Int64) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(size - start))
        guard start == hashed, bytes.withUnsafeMutableBytes(hash), hasher.snapshot() == sha256
        else {
            doubt(file)
            return nil
        }
        end = bytes
        return bytes
    }

    /// Fills a buffer with the next bytes, and hashes them.
    /// Returns false if the file has become shorter.
    private func hash(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
        guard (try? file.read(into: bytes, at: hashed, path: "")) == bytes.count else {
            return false
        }
        hasher.update(UnsafeRawBufferPointer(bytes))
        hashed += Int64(bytes.count)
        return true
    }
}
