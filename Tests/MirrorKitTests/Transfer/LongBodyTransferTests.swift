import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Long bodies over TLS, from real servers; not run where there are none.
@Suite(.timeLimit(.minutes(15)), .serialized) struct LongBodyTransferTests {
    private static let hasNginx = access(Nginx.program, X_OK) == 0
    private static let hasNghttpd = access(Nghttpd.program, X_OK) == 0

    private let long = TestBytes.make(9 << 20, seed: 21)
    private let short = TestBytes.make(40_000, seed: 22)

    private func job(_ url: String, _ name: String, id: Int, size: Int) throws -> Download {
        let expectation = Expectation(size: Int64(size))
        return try .fetching(
            url + "/" + name, id: id, target: "Caches/\(name)", expectation: expectation)
    }

    /// libcurl has given connections of one protocol to requests of the other here.
    @Test(.enabled(if: hasNginx, "needs nginx"))
    func longAndShortOnesDoNotShareConnections() async throws {
        let nginx = try Nginx()
        defer { nginx.stop() }
        let rig = try TransferRig { $0.cacert = nginx.certificate }
        var jobs: [Download] = []
        for id in 0..<600 {
            let isLong = id < 3
            let name = "\(isLong ? "long" : "short")\(id)"
            try nginx.put(name, isLong ? long : short)
            jobs.append(
                try job(nginx.url("https"), name, id: id, size: isLong ? long.count : short.count))
        }
        rig.loop.submit(jobs)
        let ends = await rig.ends(jobs.count)
        for id in 0..<600 {
            #expect(rig.bytes(ends[id]) == (id < 3 ? long : short), "\(id)")
            #expect(ends[id]?.received?.cost.requests == 1)
        }
        let requests = nginx.requests(atLeast: 600)
        #expect(requests.count { $0.hasPrefix("HTTP/1.1 GET /long") } == 3)
        #expect(requests.count { $0.hasPrefix("HTTP/2.0 GET /short") } == 597)
    }

    @Test(.enabled(if: hasNginx, "needs nginx"))
    func segmentsAreAskedForAlike() async throws {
        let nginx = try Nginx()
        defer { nginx.stop() }
        try nginx.put("slow/long", long)
        let rig = try TransferRig {
            $0.cacert = nginx.certificate
            $0.segments = 3
        }
        let result = await rig.run(
            try job(nginx.url("https"), "slow/long", id: 1, size: long.count))
        #expect(rig.bytes(result) == long)
        let requests = nginx.requests(atLeast: 3)
        #expect(requests.count >= 3)
        #expect(requests.allSatisfy { $0.hasPrefix("HTTP/1.1 GET /slow/long") })
    }

    @Test(.enabled(if: hasNghttpd, "needs nghttpd"))
    func http2ServersAreAskedAgain() async throws {
        let server = try Nghttpd()
        defer { server.stop() }
        try server.folder.write("long", long)
        let rig = try TransferRig {
            $0.cacert = server.certificate
            $0.transfer.retries = 0
        }
        for id in 0..<3 {
            let result = await rig.run(try job(server.url, "long", id: id, size: long.count))
            #expect(rig.bytes(result) == long)
            // What the first one found out the others know.
            #expect(result?.received?.cost.requests == (id == 0 ? 2 : 1))
        }
    }
}
