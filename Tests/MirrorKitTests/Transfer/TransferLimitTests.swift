import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

@Suite(.timeLimit(.minutes(15))) struct TransferLimitTests {
    private let bytes = TestBytes.make(400_000, seed: 4)

    private func shelf() throws -> (server: OriginServer, origin: ShelfOrigin) {
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        let origin = ShelfOrigin(shelf)
        return (try OriginServer(responder: origin), origin)
    }

    /// A server that counts the requests that it has at once, now and at the most.
    private func counting(_ running: Box<(now: Int, most: Int)>) throws -> OriginServer {
        try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                running.value.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                }
                _ = connection.pause(milliseconds: 5)
                running.value.withLock { $0.now -= 1 }
                return connection.answer("HTTP/1.1 200 OK\nContent-Length: 1", [1])
            })
    }

    @Test func perHostHoldsForAnyNumberOfJobs() async throws {
        let running = Box((now: 0, most: 0))
        let server = try counting(running)
        defer { server.stop() }
        let rig = try TransferRig { $0.perHost = 3 }
        rig.loop.submit(
            try (0..<30).map {
                try .fetching(server.url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        _ = await rig.ends(30)
        #expect(running.value.withLock { $0.most } <= 3)
    }

    @Test func perHostCountsTheRedirectedHost() async throws {
        let running = Box((now: 0, most: 0))
        let target = try counting(running)
        defer { target.stop() }
        let servers = try (0..<4).map { _ in
            try OriginServer(
                responder: ClosureOrigin { request, _, connection in
                    connection.answer(
                        "HTTP/1.1 302 Found\nLocation: \(target.url)\(request.path)\nContent-Length: 0"
                    )
                })
        }
        defer { for server in servers { server.stop() } }
        let rig = try TransferRig { $0.perHost = 2 }
        rig.loop.submit(
            try (0..<40).map {
                try .fetching(servers[$0 % 4].url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        let ends = await rig.ends(40)
        #expect(ends.values.allSatisfy { $0.received != nil })
        #expect(running.value.withLock { $0.most } <= 2)
    }

    @Test func aDeadHostCostsOneLadder() async throws {
        let origin = ClosureOrigin { _, _, _ in false }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig {
            $0.jobs = 4
            $0.transfer.retries = 2
        }
        rig.loop.submit(
            try (0..<50).map {
                try .fetching(server.url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        let ends = await rig.ends(50)
        #expect(ends.values.allSatisfy { $0.error?.isRetryable == true })
        #expect(
            ends.values.allSatisfy {
                $0.error?.message.contains("127.0.0.1:\(server.port) gave no answer in 5 tries")
                    == true
            })
        // It may be a port of TLS, which takes a plain request and closes.
        #expect(ends.values.allSatisfy { $0.error?.message.contains("write https://") == true })
        // The first tries go out together, those after them one at a time, until eight files went
        // unanswered.
        #expect(origin.requests.count <= 8)
    }

    @Test func retryAfterOfAYearEndsTheHost() async throws {
        let origin = ClosureOrigin { _, _, connection in
            connection.answer(
                "HTTP/1.1 503 Busy\nRetry-After: 31536000\nContent-Length: 0")
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.jobs = 1 }
        rig.loop.submit(
            try (0..<5).map {
                try .fetching(server.url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        let ends = await rig.ends(5)
        #expect(ends.values.allSatisfy { $0.error?.code == .retryAfterTooLong })
        #expect(ends.values.allSatisfy { $0.error?.isRetryable == true })
        #expect(origin.requests.count == 1)
    }

    @Test func aPassing503IsTriedAgain() async throws {
        let origin = ClosureOrigin { _, count, connection in
            count < 2
                ? connection.answer("HTTP/1.1 503 Busy\nRetry-After: 0\nContent-Length: 0")
                : connection.answer("HTTP/1.1 200 OK\nContent-Length: 1", [1])
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(rig.bytes(result) == [1])
        #expect(result?.received?.cost.requests == 3)
    }

    @Test func theRateLimitHoldsForAllTogether() async throws {
        let (server, _) = try shelf()
        defer { server.stop() }
        let rig = try TransferRig { $0.limitRate = 800_000 }
        let began = SystemClock.monotonic()
        rig.loop.submit([
            try .fetching(server.url + "/f", id: 1),
            try .fetching(server.url + "/f", id: 2, target: "Caches/g.bin"),
        ])
        let ends = await rig.ends(2)
        #expect(ends.values.allSatisfy { rig.bytes($0) == bytes })
        // 800,000 bytes, less what the bucket holds at first; no test of speed, but of patience.
        #expect(SystemClock.monotonic() - began >= 800)
    }

    @Test func aThrottledTransferDoesNotStall() async throws {
        let (server, _) = try shelf()
        defer { server.stop() }
        let rig = try TransferRig {
            $0.limitRate = 200_000
            $0.transfer.stallTimeout = .seconds(1)
            $0.transfer.retries = 0
        }
        #expect(rig.bytes(await rig.run(try .fetching(server.url + "/f"))) == bytes)
    }

    @Test func moreThanTheRunMayReceiveEndsEverything() async throws {
        let (server, _) = try shelf()
        defer { server.stop() }
        let rig = try TransferRig {
            $0.maxTransfer = 100_000
            $0.jobs = 1
        }
        rig.loop.submit([
            try .fetching(server.url + "/f", id: 1),
            try .fetching(server.url + "/f", id: 2, target: "Caches/g.bin"),
        ])
        let ends = await rig.ends(2)
        #expect(ends.values.contains { $0.error?.code == .transferLimit })
        #expect(ends[2]?.error?.code == .transferLimit)
    }

    @Test func bodiesOfUndeclaredSizeHaveALimit() async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer("HTTP/1.1 200 OK\nETag: \"1\"")
                while connection.send([UInt8](repeating: 7, count: 10_000)) {}
                return false
            })
        defer { server.stop() }
        let rig = try TransferRig { $0.transfer.maxSize = 300_000 }
        let result = await rig.run(try .fetching(server.url + "/f"))
        #expect(result?.error?.code == .tooLarge)
        #expect(rig.parts.isEmpty)
    }

    @Test func bytesBeyondTheDeclaredSizeAreAnError() async throws {
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer(
                    "HTTP/1.1 200 OK\nETag: \"1\"\nTransfer-Encoding: chunked",
                    Array("5\r\nabcde\r\n0\r\n\r\n".utf8))
                return true
            })
        defer { server.stop() }
        let rig = try TransferRig()
        let result = await rig.run(
            try .fetching(server.url + "/f", expectation: Expectation(size: 4)))
        #expect(result?.error?.code == .sizeMismatch)
        #expect(rig.parts.isEmpty)
    }

    @Test func aResumedTransferGoesOn() async throws {
        let (server, _) = try shelf()
        defer { server.stop() }
        let rig = try TransferRig { $0.transfer.stallTimeout = .seconds(1) }
        rig.loop.submit([try .fetching(server.url + "/f")])
        rig.loop.pause(1)
        // Longer than the stall timeout: the clock stands while nothing is asked for.
        try await Task.sleep(for: .milliseconds(1500))
        #expect(rig.told.allSatisfy { if case .ended = $0.event { false } else { true } })
        rig.loop.resume(1)
        #expect(rig.bytes(await rig.ends()[1]) == bytes)
    }

    @Test func piecesProveBytesWithoutADigest() async throws {
        let (server, _) = try shelf()
        defer { server.stop() }
        let digests = stride(from: 0, to: bytes.count, by: 100_000).map {
            ByteHasher.digest(.sha256, of: Array(bytes[$0..<($0 + 100_000)]))
        }
        let pieces = try #require(Pieces(length: 100_000, digests: digests))
        let wrong = try #require(Pieces(length: 100_000, digests: digests.reversed()))
        let rig = try TransferRig()
        let good = await rig.run(
            try .fetching(server.url + "/f", expectation: Expectation(pieces: pieces)))
        #expect(good?.received?.verified == .digest)
        let bad = await rig.run(
            try .fetching(server.url + "/f", id: 2, expectation: Expectation(pieces: wrong)))
        #expect(bad?.error?.code == .digestMismatch)
        #expect(bad?.error?.attempts == 2)
    }
}
