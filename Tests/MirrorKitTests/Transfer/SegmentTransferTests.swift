import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// Several connections for one file, on real sockets.
@Suite(.timeLimit(.minutes(15))) struct SegmentTransferTests {
    private let target: Target
    private let bytes = TestBytes.make(12_000_000, seed: 11)

    init() throws { target = try Target("Caches/f.bin") }

    /// Serves ranges of the bytes under one tag; the first answer of all stops half way through
    /// its first MiB until so many requests have come. While `isHeld`, it stays there, and requests
    /// from a number on get no answer.
    private func origin(
        waitingFor count: Int, isHeld: Box<Bool> = Box(false), holdingFrom first: Int = .max,
        most: Box<Int> = Box(0)
    ) -> ClosureOrigin {
        let bytes = bytes
        let (arrived, active) = (Box(0), Box(0))
        return ClosureOrigin { request, order, connection in
            arrived.value.withLock { $0 += 1 }
            let now = active.value.withLock { active in
                active += 1
                return active
            }
            most.value.withLock { $0 = max($0, now) }
            defer { active.value.withLock { $0 -= 1 } }
            while order >= first, isHeld.value.withLock({ $0 }) {
                guard connection.pause(milliseconds: 5) else { return false }
            }
            let span = Self.span(request, of: bytes.count)
            let head =
                request.value(of: "Range") == nil
                ? "HTTP/1.1 200 OK"
                : """
                HTTP/1.1 206 Partial Content
                Content-Range: bytes \(span.lowerBound)-\(span.upperBound - 1)/\(bytes.count)
                """
            let lines = head + "\nETag: \"1\"\nContent-Length: \(span.count)"
            guard order == 0 else { return connection.answer(lines, bytes[span]) }
            guard connection.answer(lines, bytes[span].prefix(500_000)) else { return false }
            while arrived.value.withLock({ $0 }) < count || isHeld.value.withLock({ $0 }) {
                guard connection.pause(milliseconds: 5) else { return false }
            }
            return connection.send(Array(bytes[span].dropFirst(500_000)))
        }
    }

    private static func span(_ request: ReceivedRequest, of count: Int) -> Range<Int> {
        guard let range = request.value(of: "Range")?.dropFirst(6).split(separator: "-"),
            let first = range.first.flatMap({ Int($0) })
        else { return 0..<count }
        return first..<(range.count > 1 ? (Int(range[1]) ?? count - 1) + 1 : count)
    }

    @Test(arguments: [2, 3, 8]) func everyByteComesOnceWhateverTheNumber(count: Int) async throws {
        let origin = origin(waitingFor: count)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.segments = count }
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.bytes(result) == bytes)
        #expect(result?.received?.sha256 == ByteHasher.digest(.sha256, of: bytes))
        #expect(origin.requests.count >= count)
        #expect(result?.received?.cost.requests == origin.requests.count)
        #expect(origin.requests.dropFirst().allSatisfy { $0.value(of: "If-Range") == "\"1\"" })
        #expect(try rig.records(target).count == 1)
    }

    @Test func placesForOneHostHoldForAllConnections() async throws {
        let most = Box(0)
        let server = try OriginServer(responder: origin(waitingFor: 2, most: most))
        defer { server.stop() }
        let rig = try TransferRig {
            $0.segments = 16
            $0.perHost = 2
        }
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.bytes(result) == bytes)
        // One that was cut may not have noticed yet.
        #expect(most.value.withLock { $0 } <= 3)
    }

    @Test func anotherRunContinuesFromAllBytes() async throws {
        let isHeld = Box(true)
        let origin = origin(waitingFor: 0, isHeld: isHeld, holdingFrom: 5)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.segments = 3 }
        rig.loop.submit([try .fetching(server.url + "/f")])
        await origin.waitForRequests(6)
        rig.loop.cancelAll()
        #expect(await rig.ends()[1]?.isCancelled == true)
        isHeld.value.withLock { $0 = false }
        let part = try #require(try rig.records(target).first)
        #expect(!part.extents.isEmpty)
        #expect(part.loggedBytes > part.loggedLength)
        let second = await rig.run(try .fetching(server.url + "/f", id: 2, part: part))
        #expect(rig.bytes(second) == bytes)
        #expect(second?.received?.sha256 == ByteHasher.digest(.sha256, of: bytes))
        #expect(second?.received?.cost.bytesReused == part.loggedBytes)
    }

    @Test func aWrongExtentIsFetchedAgain() async throws {
        let isHeld = Box(true)
        let origin = origin(waitingFor: 0, isHeld: isHeld, holdingFrom: 3)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.segments = 2 }
        rig.loop.submit([try .fetching(server.url + "/f")])
        await origin.waitForRequests(4)
        rig.loop.cancelAll()
        _ = await rig.ends()
        isHeld.value.withLock { $0 = false }
        let part = try #require(try rig.records(target).first)
        let extent = try #require(part.extents.first)
        var damaged = try #require(rig.folder.bytes(of: "tmp/" + part.name))
        damaged[Int(extent.start)] ^= 1
        try rig.folder.write(damaged, to: "tmp/" + part.name)
        let second = await rig.run(try .fetching(server.url + "/f", id: 2, part: part))
        #expect(rig.bytes(second) == bytes)
        let reused = try #require(second?.received?.cost.bytesReused)
        #expect(reused < part.loggedBytes)
    }

    /// The other source's head is taken inside libcurl, which refuses to end connections there.
    @Test func aRefusedBodysConnectionsEndFirst() async throws {
        let (bytes, arrived, isOver) = (bytes, Box(0), Box(false))
        let flood = ClosureOrigin { request, order, connection in
            arrived.value.withLock { $0 += 1 }
            guard order == 0 else {
                let span = Self.span(request, of: bytes.count)
                let lines = """
                    HTTP/1.1 206 Partial Content
                    Content-Range: bytes \(span.lowerBound)-\(span.upperBound - 1)/\(bytes.count)
                    ETag: "1"
                    Content-Length: \(span.count)
                    """
                guard connection.answer(lines, bytes[span].prefix(1000)) else { return false }
                while !isOver.value.withLock({ $0 }) {
                    guard connection.pause(milliseconds: 5) else { return false }
                }
                return false
            }
            let lines = "HTTP/1.1 200 OK\nETag: \"1\"\nTransfer-Encoding: chunked"
            let chunk = Array("7a120\r\n".utf8) + bytes.prefix(500_000) + Array("\r\n".utf8)
            guard connection.answer(lines, chunk[...]) else { return false }
            while arrived.value.withLock({ $0 }) < 3 {
                guard connection.pause(milliseconds: 5) else { return false }
            }
            let trailer = "X-Trailer: " + String(repeating: "x", count: 1000) + "\r\n"
            return connection.send(
                Array(("0\r\n" + String(repeating: trailer, count: 300) + "\r\n").utf8))
        }
        let first = try OriginServer(responder: flood)
        defer { first.stop() }
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        let second = try OriginServer(responder: ShelfOrigin(shelf))
        defer { second.stop() }
        let rig = try TransferRig { $0.segments = 3 }
        let result = await rig.run(
            try .fetching(
                first.url + "/f", second.url + "/f",
                expectation: Expectation(size: Int64(bytes.count))))
        isOver.value.withLock { $0 = true }
        #expect(rig.bytes(result) == bytes)
        #expect(flood.requests.count == 3)
    }

    @Test(arguments: [1, 3]) func aRefusedBodyIsContinuedUnderAPin(connections: Int) async throws {
        let (bytes, front, brought) = (bytes, 2_000_000, 700_000)
        let expectation = Expectation(
            size: Int64(bytes.count), digests: [ByteHasher.digest(.sha256, of: bytes)])
        let breaking = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer(
                    "HTTP/1.1 200 OK\nContent-Length: \(bytes.count)", bytes[..<front])
                return false
            })
        defer { breaking.stop() }
        let flood = ClosureOrigin { request, order, connection in
            let span = Self.span(request, of: bytes.count)
            guard order == 0 else { return connection.pause(milliseconds: 600_000) }
            return connection.flood(span, of: bytes, bringing: brought)
        }
        let first = try OriginServer(responder: flood)
        defer { first.stop() }
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        let origin = ClosureOrigin { request, _, connection in
            ShelfOrigin(shelf).respond(to: request, on: connection)
        }
        let second = try OriginServer(responder: origin)
        defer { second.stop() }
        let rig = try TransferRig {
            $0.segments = connections
            $0.transfer.retries = 0
        }
        _ = await rig.run(try .fetching(breaking.url + "/f", expectation: expectation))
        let part = try #require(try rig.records(target).first)
        #expect(part.loggedLength == Int64(front))
        let result = await rig.run(
            try .fetching(
                first.url + "/f", second.url + "/f", id: 2, expectation: expectation, part: part))
        #expect(result?.error == nil)
        #expect(rig.bytes(result) == bytes)
        #expect(result?.received?.cost.bytesReused == Int64(front))
        if connections == 1 {
            let range = "bytes=\(front + brought)-"
            #expect(origin.requests.map { $0.value(of: "Range") } == [range])
        }
    }

    /// The refused answer filled the gap before bytes that another connection had fetched.
    @Test func refusedBodiesThatFillGapsAreFree() async throws {
        let (bytes, isHeld) = (bytes, Box(true))
        let expectation = Expectation(
            size: Int64(bytes.count), digests: [ByteHasher.digest(.sha256, of: bytes)])
        let earlier = origin(waitingFor: 0, isHeld: isHeld, holdingFrom: 5)
        let earlierServer = try OriginServer(responder: earlier)
        defer { earlierServer.stop() }
        let flood = ClosureOrigin { request, order, connection in
            let span = Self.span(request, of: bytes.count)
            guard order == 0 else { return connection.pause(milliseconds: 600_000) }
            return connection.flood(span, of: bytes, bringing: span.count)
        }
        let first = try OriginServer(responder: flood)
        defer { first.stop() }
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        let second = try OriginServer(responder: ShelfOrigin(shelf))
        defer { second.stop() }
        let rig = try TransferRig { $0.segments = 3 }
        rig.loop.submit([try .fetching(earlierServer.url + "/f", expectation: expectation)])
        await earlier.waitForRequests(6)
        rig.loop.cancelAll()
        _ = await rig.ends()
        isHeld.value.withLock { $0 = false }
        let part = try #require(try rig.records(target).first)
        #expect(!part.extents.isEmpty)
        let result = await rig.run(
            try .fetching(
                first.url + "/f", second.url + "/f", id: 2, expectation: expectation, part: part))
        #expect(result?.error == nil)
        #expect(rig.bytes(result) == bytes)
        let cost = try #require(result?.received?.cost)
        #expect(cost.bytesReused == part.loggedBytes)
        #expect(cost.bytesReceived <= Int64(bytes.count) - part.loggedBytes + 1 << 20)
    }

    @Test func aPausedTransferHoldsAllItsConnectionsBack() async throws {
        let origin = origin(waitingFor: 2)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.segments = 4 }
        rig.loop.submit([try .fetching(server.url + "/f")])
        rig.loop.pause(1)
        rig.loop.resume(1)
        #expect(rig.bytes(await rig.ends()[1]) == bytes)
    }

    @Test func aDiscardedTransferLeavesNoPart() async throws {
        let stalling = origin(waitingFor: 0, isHeld: Box(true), holdingFrom: 1)
        let server = try OriginServer(responder: stalling)
        defer { server.stop() }
        let rig = try TransferRig { $0.segments = 3 }
        rig.loop.submit([try .fetching(server.url + "/f")])
        await stalling.waitForRequests(3)
        rig.loop.cancel([1], discardingPart: true)
        #expect(await rig.ends()[1]?.isCancelled == true)
        #expect(rig.parts.isEmpty)
        #expect(try rig.records(target).isEmpty)
    }
}

extension Connection {
    /// Sends the first bytes of a range in a chunk, and then more trailers than are read.
    fileprivate func flood(_ span: Range<Int>, of bytes: [UInt8], bringing count: Int) -> Bool {
        let lines = """
            HTTP/1.1 206 Partial Content
            Content-Range: bytes \(span.lowerBound)-\(span.upperBound - 1)/\(bytes.count)
            Transfer-Encoding: chunked
            """
        let size = String(count, radix: 16) + "\r\n"
        let trailer = "X-Trailer: " + String(repeating: "x", count: 1000) + "\r\n"
        let end = "\r\n0\r\n" + String(repeating: trailer, count: 300) + "\r\n"
        return answer(lines, Array(size.utf8) + bytes[span].prefix(count) + Array(end.utf8))
    }
}

extension ClosureOrigin {
    /// Waits until so many requests have come.
    fileprivate func waitForRequests(_ count: Int) async {
        while requests.count < count { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
