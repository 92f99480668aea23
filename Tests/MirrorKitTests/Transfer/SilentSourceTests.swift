import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Several connections for one file of which one source stays silent, on real sockets.
@Suite(.timeLimit(.minutes(5))) struct SilentSourceTests {
    private let bytes = TestBytes.make(12_000_000, seed: 11)
    private let expectation: MirrorKit.Expectation

    init() {
        expectation = MirrorKit.Expectation(
            size: Int64(bytes.count), digests: [ByteHasher.digest(.sha256, of: bytes)])
    }

    /// A rig of so many connections, so slow that a silent one counts as lagging.
    ///
    /// Its tests end long before a stall would end the wait.
    private func rig(connections: Int) throws -> TransferRig {
        try TransferRig {
            $0.segments = connections
            $0.limitRate = RateLimit(6 << 20)
        }
    }

    private func shelf() -> ShelfOrigin {
        let shelf = MemoryShelf()
        shelf.put("/f", bytes)
        return ShelfOrigin(shelf)
    }

    @Test func othersFetchASilentConnectionsRange() async throws {
        // The second source takes requests and never answers.
        let silent = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                connection.pause(milliseconds: 60_000)
            })
        defer { silent.stop() }
        let server = try OriginServer(responder: shelf())
        defer { server.stop() }
        let rig = try rig(connections: 2)
        let result = await rig.run(
            try .fetching(server.url + "/f", silent.url + "/f", expectation: expectation))
        #expect(rig.bytes(result) == bytes)
    }

    @Test func anotherSourceFollowsAfterASilentBody() async throws {
        let bytes = bytes
        let silent = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                let head = "HTTP/1.1 200 OK\nETag: \"1\"\nContent-Length: \(bytes.count)"
                return connection.answer(head) && connection.pause(milliseconds: 60_000)
            })
        defer { silent.stop() }
        let shelf = shelf()
        let origin = ClosureOrigin { request, _, connection in
            shelf.respond(to: request, on: connection)
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try rig(connections: 3)
        let result = await rig.run(
            try .fetching(silent.url + "/f", server.url + "/f", expectation: expectation))
        #expect(rig.bytes(result) == bytes)
        let asked = origin.requests.map { $0.value(of: "Range") }
        #expect(asked.contains { $0?.hasPrefix("bytes=0-") == true })
        #expect(!asked.contains(nil))
        let cost = try #require(result?.received?.cost)
        #expect(cost.bytesReceived < Int64(bytes.count) + 1 << 20)
    }
}
