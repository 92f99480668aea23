import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// How long a connection may take, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct HTTPServerTests {
    private static let get = "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A server that answers everything with one file.
    private func server(
        of bytes: [UInt8], size: Int64? = nil, sha256: Digest? = nil,
        isDoubted: CancellationFlag = CancellationFlag(), _ change: (inout ServerLimits) -> Void
    ) throws -> HTTPServer {
        try folder.write(bytes, to: "file")
        let file = Descriptor(owning: open(folder.path + "/file", O_RDONLY | O_CLOEXEC))
        var limits = ServerLimits()
        change(&limits)
        var answer = ServedAnswer(status: 200)
        answer.body = .file(0..<(size ?? Int64(bytes.count)))
        answer.sha256 = sha256
        return try HTTPServer(
            at: ListenAddress(host: "127.0.0.1", port: 0), limits: limits,
            reply: { [answer] _, _ in .answer(answer, file) }, doubt: { _ in isDoubted.set() })
    }

    @Test func aConnectionOnWhichNothingMovesIsClosed() async throws {
        let server = try server(of: [1]) { $0.idleSeconds = 1 }
        defer { server.stop() }
        let client = try #require(LoopbackClient(port: server.address.port))
        client.send("GET /file HT")
        let rest = try await DetachedThread.run { client.readAll() }
        #expect(rest == [])
        // An idle connection behind an answer, too.
        let other = try #require(LoopbackClient(port: server.address.port))
        other.send(Self.get)
        let answer = try await DetachedThread.run { other.readAll() }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
    }

    /// Each byte of it starts the time of an idle connection again.
    @Test(arguments: ["", Self.get])
    func aRequestThatTricklesInIsCutOff(_ before: String) async throws {
        let server = try server(of: [1]) { $0.requestSeconds = 1 }
        defer { server.stop() }
        let client = try #require(LoopbackClient(port: server.address.port))
        client.send(before)
        #expect(try await trickle("GET /file HTTP/1.1\r\nX: ", by: client))
    }

    @Test func aBodyThatTricklesInIsCutOff() async throws {
        let server = try server(of: [1]) { $0.requestSeconds = 1 }
        defer { server.stop() }
        let client = try #require(LoopbackClient(port: server.address.port))
        #expect(
            try await trickle(
                "GET /file HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
                by: client))
    }

    /// Whoever takes bytes has time, as long as it takes them.
    @Test func aSlowClientGetsTheWholeFile() async throws {
        let bytes = TestBytes.make(20_000_000, seed: 3)
        // On a busy machine the other request takes longer than a client may take nothing.
        let server = try server(of: bytes) { ($0.requestSeconds, $0.idleSeconds) = (1, 600) }
        defer { server.stop() }
        let port = server.address.port
        let client = try #require(LoopbackClient(port: port, receiveBuffer: 4096))
        client.send("GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        let first = client.read(1000)
        // The time of a request that began after this one is over.
        let other = try #require(LoopbackClient(port: port))
        #expect(try await trickle("GET /file HTTP/1.1\r\nX: ", by: other))
        let rest = try await DetachedThread.run { client.readAll() }
        let isWhole = (first + rest).suffix(bytes.count).elementsEqual(bytes)
        #expect(isWhole)
    }

    /// A file that was cut in its place has fewer bytes than its head promises.
    @Test(arguments: [1000, 1_000_000])
    func aShortenedFileIsNoWholeAnswer(_ size: Int) async throws {
        let bytes = TestBytes.make(size / 2, seed: 4)
        let server = try server(of: bytes, size: Int64(size)) { $0.idleSeconds = 1 }
        defer { server.stop() }
        let request = "GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let port = server.address.port
        let text = try await DetachedThread.run { LoopbackClient.exchange(request, port: port) }
        let answer = try #require(text)
        #expect(answer.hasPrefix("HTTP/1.1 503") || answer.contains("Content-Length: \(size)\r\n"))
        #expect(answer.utf8.count < size)
    }

    /// The last bytes of a whole file are sent only if all that was sent has the digest of the head.
    @Test(arguments: [1, 32_768, 32_769, 65_536, 65_537, 3_000_000], [true, false])
    func aWholeFileEndsOnlyWithItsDigest(size: Int, isRight: Bool) async throws {
        let bytes = TestBytes.make(size, seed: 6)
        let isDoubted = CancellationFlag()
        let server = try server(
            of: bytes, sha256: ByteHasher.digest(.sha256, of: isRight ? bytes : bytes + [0]),
            isDoubted: isDoubted
        ) { _ in }
        defer { server.stop() }
        let client = try #require(LoopbackClient(port: server.address.port))
        client.send("GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        let answer = try await DetachedThread.run { client.readAll() }
        let head = try #require(answer.firstRange(of: Array("\r\n\r\n".utf8)))
        let text = String(decoding: answer[..<head.lowerBound], as: UTF8.self)
        let body = answer[head.upperBound...]
        #expect(isDoubted.isSet != isRight)
        if !isRight, size <= 65_536 {
            #expect(text.hasPrefix("HTTP/1.1 503"))
            return
        }
        #expect(text.contains("Content-Length: \(size)"))
        let sent = isRight ? size : max(0, size - 65_536)
        #expect(body.count == sent)
        let isPrefix = bytes.prefix(sent).elementsEqual(body)
        #expect(isPrefix)
    }

    /// What another program does to a file in its place.
    enum Change: CaseIterable { case cut, written }

    /// The rest would never come, or be of another version; the client shall not wait for either.
    @Test(arguments: Change.allCases)
    func aFileChangedWhileSentEndsItsConnection(_ change: Change) async throws {
        let bytes = TestBytes.make(20_000_000, seed: 5)
        let server = try server(of: bytes) { $0.idleSeconds = 300 }
        defer { server.stop() }
        let client = try #require(LoopbackClient(port: server.address.port, receiveBuffer: 4096))
        client.send(Self.get)
        var received = client.read(1000)
        let path = folder.path + "/file"
        switch change {
        case .cut: #expect(truncate(path, 15_000_000) == 0)
        case .written:
            let file = Descriptor(owning: open(path, O_WRONLY | O_CLOEXEC))
            #expect(pwrite(file.number, [1, 2, 3], 3, 19_000_000) == 3)
            // It takes nothing more before the server has looked.
            #expect(try await trickle("", by: client))
        }
        received += try await DetachedThread.run { client.readAll() }
        #expect(received.count < bytes.count)
        #expect(try await trickle("", by: client))
        // What was sent before is of the version that the head names.
        let head = try #require(received.firstRange(of: Array("\r\n\r\n".utf8)))
        let body = received[head.upperBound...].prefix(15_000_000)
        #expect(bytes.starts(with: body))
    }

    /// Sends a text, and a byte now and then; whether the server ended that.
    private func trickle(_ start: String, by client: LoopbackClient) async throws -> Bool {
        try await DetachedThread.run {
            client.send(start)
            for _ in 0..<600 {
                guard client.send("x") else { return true }
                Pause.milliseconds(100)
            }
            return false
        }
    }
}
