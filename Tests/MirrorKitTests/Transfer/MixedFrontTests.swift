import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Against one address with HTTP/2 on some connections and HTTP/1.1 on others.
@Suite(
    .timeLimit(.minutes(15)), .serialized,
    .enabled(if: MixedFront.isPossible, "needs nginx and haproxy"))
struct MixedFrontTests {
    /// The wire alone keeps requests apart: nothing above it looks here at who answers whom.
    @Test(arguments: [true, false])
    func everyAnswerReachesItsRequest(firstSpeaksHTTP2: Bool) throws {
        let front = try MixedFront(requests: 40)
        defer { front.stop() }
        for size in 1...300 { try front.put("\(size)", TestBytes.make(size, seed: 1)) }
        try front.balance(firstSpeaksHTTP2: firstSpeaksHTTP2)
        var configuration = Configuration()
        configuration.cacert = front.certificate
        let probe = try HeadProbe(configuration, isCancelled: { false })
        let urls = try (1...300).map { try SourceURL(front.url + "/\($0)") }
        let sizes = try probe.reports(on: urls).map(\.size)
        #expect(sizes == (1...300).map { Int64($0) })
    }

    @Test(arguments: [true, false])
    func everyFileGetsItsOwnBytes(firstSpeaksHTTP2: Bool) async throws {
        let front = try MixedFront(requests: 20)
        defer { front.stop() }
        try front.balance(firstSpeaksHTTP2: firstSpeaksHTTP2)
        let rig = try TransferRig { $0.cacert = front.certificate }
        var jobs: [Download] = []
        for id in 0..<300 {
            try front.put("\(id)", TestBytes.make(3000, seed: UInt64(id)))
            jobs.append(try .fetching(front.url + "/\(id)", id: id, target: "Caches/\(id)"))
        }
        rig.loop.submit(jobs)
        let ends = await rig.ends(jobs.count)
        for id in 0..<300 {
            #expect(rig.bytes(ends[id]) == TestBytes.make(3000, seed: UInt64(id)), "\(id)")
        }
    }
}

/// Against an origin whose answers end in ways which clients take for good ends.
@Suite(
    .timeLimit(.minutes(15)), .serialized,
    .enabled(if: OddOrigin.isPossible, "needs python3-h2"))
struct OddOriginTests {
    /// Fetches files whose requests end so; returns the origin's view of the requests.
    private func fetch(
        _ ending: OddOrigin.Ending, count: Int = 8, protocols: [String] = ["h2", "http/1.1"],
        verified: Verification
    ) async throws -> [String] {
        let origin = try OddOrigin(protocols: protocols)
        defer { origin.stop() }
        let rig = try TransferRig {
            $0.cacert = origin.certificate
            $0.transfer.retries = 1
        }
        rig.loop.submit(
            try (0..<count).map {
                try .fetching(origin.url(ending, "\($0)"), id: $0, target: "Caches/\($0)")
            })
        let ends = await rig.ends(count)
        for id in 0..<count {
            let isWhole = rig.bytes(ends[id]) == origin.bytes(ending, "\(id)")
            #expect(isWhole, "\(id): \(ends[id]?.error?.message ?? "other bytes")")
            #expect(ends[id]?.received?.verified == verified)
        }
        return origin.requests
    }

    @Test func withCloseNotifyABodyIsWhole() async throws {
        let requests = try await fetch(.notice, protocols: ["http/1.1"], verified: .none)
        #expect(requests.count == 8)
    }

    @Test func withoutCloseNotifyABodyIsCut() async throws {
        let requests = try await fetch(.cut, protocols: ["http/1.1"], verified: .none)
        #expect(requests.count == 16)
    }

    @Test(arguments: [OddOrigin.Ending.ended, .reset])
    func unknownLengthUsesHTTP1(ending: OddOrigin.Ending) async throws {
        let requests = try await fetch(ending, verified: .size)
        #expect(requests.count { $0.hasPrefix("HTTP/1.1") } == 8)
    }

    @Test(arguments: [OddOrigin.Ending.first, .away, .goneFirst])
    func filesAreWholeWithoutHTTP2(ending: OddOrigin.Ending) async throws {
        _ = try await fetch(ending, count: 60, verified: .size)
    }

    /// The number of connections over which 200 files were fetched.
    private func connections(
        _ ending: OddOrigin.Ending, _ change: (inout Configuration) -> Void = { _ in }
    ) async throws -> Int {
        let origin = try OddOrigin()
        defer { origin.stop() }
        let rig = try TransferRig {
            $0.cacert = origin.certificate
            change(&$0)
        }
        rig.loop.submit(
            try (0..<200).map {
                try .fetching(origin.url(ending, "\($0)"), id: $0, target: "Caches/\($0)")
            })
        let ends = await rig.ends(200)
        for id in 0..<200 {
            #expect(rig.bytes(ends[id]) == origin.bytes(ending, "\(id)"), "\(id)")
        }
        return origin.connections
    }

    /// libcurl would make one for each request that the server refused.
    @Test func refusedRequestsShareTheNextConnection() async throws {
        #expect(try await connections(.crowd) <= 4)
    }

    /// The requests that it left behind would wait until they stall, for 30 s.
    @Test func closeNotifyEndsAConnectionBeforeItsSocket() async throws {
        #expect(try await connections(.kept) { $0.transfer.stallTimeout = .seconds(600) } <= 8)
    }

    /// Each further try would be made over it, and get no answer either.
    @Test func aSilentConnectionIsNotUsedAgain() async throws {
        #expect(try await connections(.dumb) { $0.transfer.stallTimeout = .seconds(1) } <= 4)
    }

    /// Under TLS 1.3 libcurl reports a write that failed, and under 1.2 a handshake (RFC 8446 §4.3.2).
    @Test(arguments: ["1.2", "1.3"])
    func aWantedCertificateIsNamedAfterOneTry(version: String) async throws {
        let origin = try OddOrigin(demand: version)
        defer { origin.stop() }
        let rig = try TransferRig { $0.cacert = origin.certificate }
        let job = try Download.fetching(origin.url(.ended, "a"), id: 0, target: "Caches/a")
        let error = try #require(await rig.run(job)?.error)
        #expect(error.code == .tlsFailed)
        #expect(error.message.contains("the server wants a client certificate"), "\(error.message)")
        #expect(!error.isRetryable)
        #expect(error.remedy?.kind == .giveCertificate)
        #expect(origin.url(.ended, "a").hasPrefix(error.remedy?.subject ?? "none"))
    }
}
