import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Against a real nginx with TLS and HTTP/2; not run where there is none.
@Suite(
    .timeLimit(.minutes(15)), .serialized,
    .enabled(if: access(Nginx.program, X_OK) == 0, "needs nginx"))
struct TransferTLSTests {
    private let bytes = TestBytes.make(6 << 20, seed: 8)

    @Test func streamsShareOneConnectionAndOneRate() async throws {
        let nginx = try Nginx()
        defer { nginx.stop() }
        for name in ["a", "b", "c"] { try nginx.put(name, bytes) }
        let rig = try TransferRig {
            $0.cacert = nginx.certificate
            $0.limitRate = RateLimit(30 << 20)
        }
        rig.loop.submit(
            try ["a", "b", "c"].enumerated().map {
                try .fetching(
                    nginx.url("https") + "/" + $0.element, id: $0.offset,
                    target: "Caches/\($0.element)")
            })
        let ends = await rig.ends(3)
        for id in 0..<3 { #expect(rig.bytes(ends[id]) == bytes) }
        #expect(nginx.requests().allSatisfy { $0.contains("HTTP/2") })
    }

    @Test func aPausedStreamDoesNotHoldItsSiblings() async throws {
        let nginx = try Nginx()
        defer { nginx.stop() }
        for name in ["a", "b"] { try nginx.put(name, bytes) }
        let rig = try TransferRig { $0.cacert = nginx.certificate }
        rig.loop.submit([try .fetching(nginx.url("https") + "/a", id: 1, target: "Caches/a")])
        rig.loop.pause(1)
        rig.loop.submit([try .fetching(nginx.url("https") + "/b", id: 2, target: "Caches/b")])
        let first = await rig.ends()
        #expect(rig.bytes(first[2]) == bytes)
        rig.loop.resume(1)
        let second = await rig.ends()
        #expect(rig.bytes(second[1]) == bytes)
    }

    @Test func anUnknownCertificateIsNotRetried() async throws {
        let nginx = try Nginx()
        defer { nginx.stop() }
        try nginx.put("a", bytes)
        let rig = try TransferRig()
        let result = await rig.run(try .fetching(nginx.url("https") + "/a"))
        #expect(result?.error?.code == .tlsFailed)
        #expect(result?.error?.isRetryable == false)
        #expect(result?.error?.attempts == 1)
    }

    @Test func aPartContinuesOverHTTP2() async throws {
        let nginx = try Nginx()
        defer { nginx.stop() }
        try nginx.put("a", bytes)
        let rig = try TransferRig {
            $0.cacert = nginx.certificate
            $0.limitRate = RateLimit(4 << 20)
        }
        rig.loop.submit([try .fetching(nginx.url("https") + "/a", target: "Caches/f.bin")])
        while rig.parts.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        rig.loop.cancel([1], discardingPart: false)
        _ = await rig.ends()
        let part = try #require(try rig.records(try Target("Caches/f.bin")).first)
        let result = await rig.run(try .fetching(nginx.url("https") + "/a", id: 2, part: part))
        #expect(rig.bytes(result) == bytes)
        #expect((result?.received?.cost.bytesReused ?? 0) > 0)
    }
}
