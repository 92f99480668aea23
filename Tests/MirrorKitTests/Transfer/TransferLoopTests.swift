import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

@Suite(.timeLimit(.minutes(15))) struct TransferLoopTests {
    private let small = TestBytes.make(1000, seed: 1)
    private let large = TestBytes.make(3 << 20, seed: 2)

    private func sha256(_ bytes: [UInt8]) -> Digest { ByteHasher.digest(.sha256, of: bytes) }

    @Test func aSmallBodyNeverTouchesTheDisk() async throws {
        let shelf = MemoryShelf()
        shelf.put("/f", small)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.bytes(result) == small)
        #expect(result?.received?.sha256 == sha256(small))
        #expect(result?.received?.cost == TransferCost(requests: 1, bytesReceived: 1000))
        #expect(rig.parts.isEmpty)
    }

    @Test func loopWithoutJobsEndsOnce() throws {
        let rig = try TransferRig()
        let ending = try #require(rig.loop.finish())
        #expect(rig.loop.finish() == nil, "only one caller may wait for the thread")
        ending.join()
    }

    @Test func aLargeBodyIsAPartWithMilestones() async throws {
        let shelf = MemoryShelf()
        shelf.put("/f", large)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let rig = try TransferRig()
        let pin = Expectation(size: Int64(large.count), digests: [sha256(large)])
        let result = await rig.run(try .fetching(server.url + "/f", expectation: pin))
        #expect(rig.bytes(result) == large)
        #expect(result?.received?.verified == .digest)
        let record = try #require(try rig.records(try Target("Caches/f.bin")).first)
        #expect(record.milestones.last == Milestone(length: 3 << 20, sha256: sha256(large)))
    }

    @Test func manySmallFilesComeOverFewConnections() async throws {
        let shelf = MemoryShelf()
        for number in 0..<300 { shelf.put("/\(number)", TestBytes.make(200, seed: UInt64(number))) }
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let rig = try TransferRig { $0.perHost = 4 }
        rig.loop.submit(
            try (0..<300).map {
                try .fetching(server.url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        let ends = await rig.ends(300)
        for number in 0..<300 {
            #expect(rig.bytes(ends[number]) == TestBytes.make(200, seed: UInt64(number)))
        }
        #expect(server.connections <= 4)
    }

    @Test func aConfirmedVersionIsNotModified() async throws {
        let shelf = MemoryShelf()
        shelf.put("/f", small)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let rig = try TransferRig()
        let first = await rig.run(try .fetching(server.url + "/f"))
        let body = try #require(first?.received)
        let local = LocalVersion(
            provenance: body.answer.provenance, validators: body.answer.validators,
            size: body.size, sha256: body.sha256)
        let second = await rig.run(try .fetching(server.url + "/f", id: 2, local: local))
        guard case .notModified(let confirmation, let cost) = second else {
            Issue.record("\(String(describing: second))")
            return
        }
        #expect(confirmation.provenance == body.answer.provenance)
        #expect(cost == TransferCost(requests: 1))
    }

    @Test func identityIsAskedForAndHeadersGoAlong() async throws {
        let origin = ClosureOrigin { _, _, connection in
            connection.answer("HTTP/1.1 200 OK\nContent-Length: 2", [1, 2])
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig()
        _ = await rig.run(
            try .fetching(server.url + "/f?token=x", headers: [("X-A", "b"), ("X-Empty", "")]))
        let request = try #require(origin.requests.first)
        #expect(request.path == "/f?token=x")
        #expect(request.value(of: "Accept-Encoding") == "identity")
        #expect(request.value(of: "X-A") == "b")
        #expect(request.value(of: "X-Empty") == "")
        #expect(request.value(of: "Range") == nil)
    }

    @Test func aPostUsesAFreshConnection() async throws {
        let origin = ClosureOrigin { _, _, connection in
            connection.answer("HTTP/1.1 200 OK\nContent-Length: 2", [1, 2])
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig()
        for id in 1...2 {
            let job = try Download.fetching(
                server.url + "/q", id: id, post: Array("type=JSON".utf8))
            #expect(rig.bytes(await rig.run(job)) == [1, 2])
        }
        #expect(origin.requests.map(\.method) == ["POST", "POST"])
        #expect(origin.requests.first?.body == Array("type=JSON".utf8))
        #expect(server.connections == 2)
    }

    @Test func headersStayBehindOnAnotherOrigin() async throws {
        let other = ClosureOrigin { _, _, connection in
            connection.answer("HTTP/1.1 200 OK\nContent-Length: 1", [7])
        }
        let otherServer = try OriginServer(responder: other)
        defer { otherServer.stop() }
        let place = otherServer.url + "/g"
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                connection.answer("HTTP/1.1 302 Found\nLocation: \(place)\nContent-Length: 0")
            })
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(
            try .fetching(server.url + "/f", headers: [("Authorization", "Bearer x")]))
        #expect(rig.bytes(result) == [7])
        #expect(other.requests.first?.value(of: "Authorization") == nil)
        #expect(result?.received?.answer.provenance.answeredBy == place)
    }

    @Test(arguments: [
        ("HTTP/1.1 404 Not Found\nContent-Length: 0", FailureCode.httpStatus),
        ("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 10", .malformedResponse),
        ("HTTP/1.1 200 OK\nContent-Length: 5, 10", .malformedResponse),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip", .malformedResponse),
        ("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Encoding: gzip", .encodingRefused),
        ("HTTP/1.1 206 Partial Content\nContent-Range: bytes 0-3/5", .httpStatus),
        ("HTTP/1.1 302 Found\nLocation: file:///etc/passwd", .redirectRefused),
    ])
    func unacceptableResponsesFailWithTheirCodes(head: String, code: FailureCode) async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer(head, [1, 2, 3, 4, 5])
                return false
            })
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(server.url + "/f?secret=1"))
        let error = try #require(result?.error)
        #expect(error.code == code)
        #expect(!error.message.contains("secret"))
        #expect(rig.parts.isEmpty)
    }

    @Test func endlessHeadersAreCutOff() async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.send(Array("HTTP/1.1 200 OK\r\n".utf8))
                let line = Array("X-Flood: \(String(repeating: "x", count: 1000))\r\n".utf8)
                while connection.send(line) {}
                return false
            })
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(result?.error?.code == .malformedResponse)
    }

    @Test func aRefusedConnectionIsRetriedAndReported() async throws {
        let port = try ClosedPort()
        let rig = try TransferRig { $0.transfer.retries = 2 }
        let result = await rig.run(try .fetching("http://127.0.0.1:\(port.port)/f"))
        let error = try #require(result?.error)
        #expect(error.code == .connectFailed)
        #expect(error.isRetryable)
        #expect(error.attempts == 3)
    }

    @Test func privateAddressesAreRefusedWhereAskedFor() async throws {
        let server = try OriginServer(responder: ShelfOrigin(MemoryShelf()))
        defer { server.stop() }
        let rig = try TransferRig { $0.publicOnly = true }
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(result?.error?.code == .privateAddress)
        #expect(server.connections == 0)
    }

    @Test func aSlowServerStalls() async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer("HTTP/1.1 200 OK\nContent-Length: 10", [1])
                return connection.pause(milliseconds: 20_000)
            })
        defer { server.stop() }
        let rig = try TransferRig {
            $0.transfer.stallTimeout = .seconds(1)
            $0.transfer.retries = 0
        }
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(result?.error?.code == .stalled)
    }

    /// Bytes of two lengths: one is hashed where it arrived, the other by a worker.
    @Test(arguments: [200, 40_000])
    func nothingBeginsBeforeAFailureWasHeard(size: Int) async throws {
        let origin = ClosureOrigin { request, _, connection in
            let body = TestBytes.make(size, seed: UInt64(request.path.dropFirst()) ?? 0)
            return connection.answer("HTTP/1.1 200 OK\nContent-Length: \(size)", body)
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig {
            $0.jobs = 1
            $0.transfer.retries = 0
        } hears: { loop, _, event in
            guard case .ended(.failed) = event else { return }
            // Whoever hears of it may take a while.
            Pause.milliseconds(50)
            loop.cancelAll()
        }
        let expectation = Expectation(
            digests: [ByteHasher.digest(.sha256, of: [1, 2, 3])])
        rig.loop.submit(
            try (1...5).map {
                try .fetching(
                    server.url + "/\($0)", id: $0, target: "Caches/\($0)",
                    expectation: $0 == 1 ? expectation : Expectation(), isDecisive: true)
            })
        _ = await rig.ends(5)
        #expect(origin.requests.count >= 1)
        #expect(origin.requests.allSatisfy { $0.path == "/1" })
    }

    /// A stop that is read together with the messages after an end must not wait for another signal.
    @Test func aStopDuringTheLastEndIsImmediate() async throws {
        let shelf = MemoryShelf()
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let (stopped, continuation) = AsyncStream.makeStream(of: Void.self)
        let rig = try TransferRig(
            hears: { loop, _, event in
                guard case .ended = event else { return }
                DetachedThread.start {
                    loop.stop()
                    continuation.finish()
                }
                // A failure is waited for: long enough for the stop to be in the inbox by then.
                Pause.milliseconds(100)
            })
        rig.loop.submit([try .fetching(server.url + "/missing", isDecisive: true)])
        let hurry = Task {
            try await Task.sleep(for: .seconds(20))
            continuation.yield()
        }
        var isLate = false
        for await _ in stopped {
            isLate = true
            break
        }
        hurry.cancel()
        #expect(!isLate)
        // Also keeps the rig, whose end would stop the loop.
        #expect(rig.told.count == 2)
    }
}
