import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Bytes that libcurl holds back for a while, under a rate limit, and that nobody wants afterwards.
///
/// What ends such a transfer is told by the call that lets it go on, and by nothing else: a loop that
/// does not listen there waits for the stall clock, which has an hour here.
@Suite(.timeLimit(.minutes(15))) struct HeldBackBodyTests {
    @Test(arguments: [600_000, 1_000_000, 1_500_001])
    func tooLongHeldBodiesEndAtOnce(size: Int) async throws {
        let bytes = TestBytes.make(size + 10_000, seed: 31)
        let server = try OriginServer(
            responder: ClosureOrigin { _, _, connection in
                _ = connection.answer("HTTP/1.1 200 OK\nConnection: close", bytes)
                // Nothing more comes, and the end is not told.
                while connection.pause(milliseconds: 50) {}
                return false
            })
        defer { server.stop() }
        let rig = try TransferRig {
            $0.limitRate = RateLimit(2 << 20)
            $0.transfer.stallTimeout = .seconds(3600)
            $0.transfer.retries = 0
        }
        let expectation = Expectation(size: Int64(size))
        let result = await rig.run(
            try .fetching(server.url + "/f", expectation: expectation))
        #expect(result?.error?.code == .sizeMismatch)
    }
}
