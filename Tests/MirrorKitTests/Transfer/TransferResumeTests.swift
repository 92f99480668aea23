import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

@Suite(.timeLimit(.minutes(15))) struct TransferResumeTests {
    private let target: Target
    private let bytes = TestBytes.make(200_000, seed: 3)

    init() throws { target = try Target("Caches/f.bin") }

    private func sha256(_ bytes: [UInt8]) -> Digest { ByteHasher.digest(.sha256, of: bytes) }

    /// Sends half of the bytes and breaks the connection, the first time; then what is asked for.
    private func breakingOrigin(tags: [String]) -> ClosureOrigin {
        let bytes = bytes
        return ClosureOrigin { request, count, connection in
            let tag = tags[min(count, tags.count - 1)]
            let range = request.value(of: "Range").flatMap { Int($0.dropFirst(6).dropLast()) }
            if let range, request.value(of: "If-Range").map({ $0 == tag }) ?? true {
                return connection.answer(
                    """
                    HTTP/1.1 206 Partial Content
                    ETag: \(tag)
                    Content-Range: bytes \(range)-\(bytes.count - 1)/\(bytes.count)
                    Content-Length: \(bytes.count - range)
                    """, bytes[range...])
            }
            let head = "HTTP/1.1 200 OK\nETag: \(tag)\nContent-Length: \(bytes.count)"
            if count == 0 {
                _ = connection.answer(head, bytes[..<100_000])
                return false
            }
            return connection.answer(head, bytes)
        }
    }

    @Test func aBrokenTransferGoesOnWhereItWas() async throws {
        let origin = breakingOrigin(tags: ["\"1\""])
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.bytes(result) == bytes)
        #expect(result?.received?.sha256 == sha256(bytes))
        #expect(origin.requests.map { $0.value(of: "Range") } == [nil, "bytes=100000-"])
        #expect(origin.requests.last?.value(of: "If-Range") == "\"1\"")
        #expect(result?.received?.cost.bytesReceived == 200_000)
    }

    @Test func aKillLosesUnderSixteenMebibytes() async throws {
        let bytes = TestBytes.make(40 << 20, seed: 4)
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                connection.answer(
                    "HTTP/1.1 200 OK\nETag: \"1\"\nContent-Length: \(bytes.count)", bytes)
            })
        defer { server.stop() }
        let rig = try TransferRig()
        #expect(await rig.run(try .fetching(server.url + "/f"))?.received != nil)
        let lengths = try #require(try rig.records(target).first).milestones.map(\.length)
        let steps = zip(lengths, [0] + lengths).map { $0 - $1 }
        let unhashed = Int64(ReadingThrottle.backlogLimit)
        #expect(lengths.last == Int64(bytes.count))
        #expect(steps.allSatisfy { $0 + unhashed < 16 << 20 }, "\(lengths)")
    }

    @Test func anotherRunGoesOnFromThePart() async throws {
        let origin = breakingOrigin(tags: ["\"1\""])
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.transfer.retries = 0 }
        let first = await rig.run(try .fetching(server.url + "/f"))
        #expect(first?.error?.code == .connectionLost)
        let part = try #require(try rig.records(target).first)
        #expect(part.milestones.last?.length == 100_000)
        let second = await rig.run(try .fetching(server.url + "/f", id: 2, part: part))
        #expect(rig.bytes(second) == bytes)
        #expect(second?.received?.cost.bytesReused == 100_000)
        #expect(second?.received?.sha256 == sha256(bytes))
    }

    @Test func anotherVersionBeginsAgain() async throws {
        let origin = breakingOrigin(tags: ["\"1\"", "\"2\""])
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.bytes(result) == bytes)
        #expect(result?.received?.answer.validators.entityTag?.text == "\"2\"")
        #expect(rig.parts.count == 1)
        let restarts = rig.told.filter { if case .restart = $0.event { true } else { false } }
        #expect(restarts.count == 1)
    }

    @Test func aDamagedPartIsCutToWhatHolds() async throws {
        let origin = breakingOrigin(tags: ["\"1\""])
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.transfer.retries = 0 }
        _ = await rig.run(try .fetching(server.url + "/f"))
        let part = try #require(try rig.records(target).first)
        var damaged = try #require(rig.folder.bytes(of: "tmp/" + part.name))
        damaged[99_999] ^= 1
        try rig.folder.write(damaged, to: "tmp/" + part.name)
        // On a slow machine the bytes came in two pieces, and the first of them was vouched for.
        let sound = part.milestones.map(\.length).filter { $0 < 100_000 }.max() ?? 0
        let second = await rig.run(try .fetching(server.url + "/f", id: 2, part: part))
        #expect(rig.bytes(second) == bytes)
        #expect(second?.received?.cost.bytesReused == sound)
    }

    @Test func aTinyBodyIsKeptAtTheEnd() async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer(
                    "HTTP/1.1 200 OK\nETag: \"1\"\nContent-Length: 10", [1, 2, 3])
                return false
            })
        defer { server.stop() }
        let rig = try TransferRig { $0.transfer.retries = 0 }
        _ = await rig.run(try .fetching(server.url + "/f"))
        #expect(try rig.records(target).first?.milestones.last?.length == 3)
    }

    @Test func withoutAValidatorNothingIsKept() async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer("HTTP/1.1 200 OK\nContent-Length: 100", [1, 2, 3])
                return false
            })
        defer { server.stop() }
        let rig = try TransferRig { $0.transfer.retries = 0 }
        _ = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.parts.isEmpty)
    }

    @Test func wrongMirrorBytesLeadToTheNext() async throws {
        let shelf = MemoryShelf()
        shelf.put("/bad", TestBytes.make(200_000, seed: 9))
        shelf.put("/good", bytes)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let rig = try TransferRig()
        let pin = Expectation(digests: [sha256(bytes)])
        let result = await rig.run(
            try .fetching(server.url + "/bad", server.url + "/good", expectation: pin))
        #expect(rig.bytes(result) == bytes)
        #expect(rig.parts.count == 1)
    }

    @Test func cancellingKeepsThePartOrDiscardsIt() async throws {
        for discards in [false, true] {
            let begun = AsyncStream.makeStream(of: Void.self)
            let bytes = bytes
            let server = try OriginServer(
                responder: ClosureOrigin { _, _, connection in
                    _ = connection.answer(
                        "HTTP/1.1 200 OK\nETag: \"1\"\nContent-Length: 200000", bytes[..<100_000])
                    begun.continuation.yield()
                    return connection.pause(milliseconds: 600_000)
                })
            defer { server.stop() }
            let rig = try TransferRig()
            rig.loop.submit([try .fetching(server.url + "/f")])
            for await _ in begun.stream { break }
            // The head was sent; a part appears once its bytes were taken in.
            while rig.parts.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            rig.loop.cancel([1], discardingPart: discards)
            #expect(await rig.ends()[1]?.isCancelled == true)
            #expect(rig.parts.isEmpty == discards)
        }
    }

    /// A worker reads the part then, and the transfer has nothing but a body that stands for it.
    @Test(arguments: [false, true])
    func cancellingAPartsCheckKeepsOrDiscardsIt(discards: Bool) async throws {
        let origin = breakingOrigin(tags: ["\"1\""])
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let loop = Box<TransferLoop?>(nil)
        let rig = try TransferRig(
            { $0.transfer.retries = 0 },
            parts: { store in
                AdaptedParts(
                    store: store,
                    opens: { loop.value.withLock { $0 }?.cancel([2], discardingPart: discards) })
            })
        _ = await rig.run(try .fetching(server.url + "/f"))
        let part = try #require(try rig.records(target).first)
        loop.value.withLock { $0 = rig.loop }
        let result = await rig.run(try .fetching(server.url + "/f", id: 2, part: part))
        loop.value.withLock { $0 = nil }
        #expect(result?.isCancelled == true)
        #expect(origin.requests.count == 1)
        #expect(rig.parts.isEmpty == discards)
        #expect(try rig.records(target).isEmpty == discards)
    }

    @Test func aFileIsASourceToo() async throws {
        let rig = try TransferRig()
        for (id, count) in [(1, 100), (2, 200_000)] {
            let bytes = TestBytes.make(count, seed: 5)
            try rig.folder.write(bytes, to: "source.bin")
            let url = "file://" + rig.folder.path + "/source.bin"
            let result = await rig.run(try .fetching(url, id: id))
            #expect(rig.bytes(result) == bytes)
            #expect(result?.received?.sha256 == sha256(bytes))
            let body = try #require(result?.received)
            let local = LocalVersion(
                provenance: body.answer.provenance, validators: body.answer.validators,
                size: body.size, sha256: body.sha256)
            let again = await rig.run(try .fetching(url, id: id + 10, local: local))
            guard case .notModified = again else {
                Issue.record("\(String(describing: again))")
                return
            }
        }
        let missing = await rig.run(try .fetching("file:///nonexistent/f", id: 5))
        #expect(missing?.error?.code == .sourceFileUnreadable)
        let folder = await rig.run(try .fetching("file:///etc", id: 6))
        #expect(folder?.error?.code == .sourceFileUnreadable)
    }

    @Test func bytesBeforeASilenceAreLogged() async throws {
        let body = TestBytes.make(2 << 20, seed: 11)
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                let head = "HTTP/1.1 200 OK\nETag: \"a\"\nContent-Length: \(body.count)"
                return connection.answer(head, body.prefix(1 << 20))
                    && connection.pause(milliseconds: 60_000)
            })
        defer { server.stop() }
        let rig = try TransferRig()
        rig.loop.submit([try .fetching(server.url + "/f")])
        var logged: Int64 = 0
        // Ten seconds at most, long before the silence counts as a stall.
        for _ in 0..<500 where logged < 1 << 20 {
            try await Task.sleep(for: .milliseconds(20))
            let records = try rig.records(try Target("Caches/f.bin"))
            logged = records.first?.milestones.last?.length ?? 0
        }
        #expect(logged == 1 << 20)
        rig.loop.cancelAll()
    }
}
