import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// Where the connection of a paused transfer goes, and how the transfer goes on, on real sockets.
@Suite(.timeLimit(.minutes(5))) struct PausedTransferTests {
    private let bytes = TestBytes.make(6_000_000, seed: 12)

    /// Sends what is asked for: of `/a` only the first 200,000 bytes until it is told to go on.
    private func origin(_ fields: String, goesOn: Box<Bool>) -> ClosureOrigin {
        let bytes = bytes
        return ClosureOrigin { request, _, connection in
            let range = request.value(of: "Range")?.dropFirst(6).split(separator: "-")
            let first = range?.first.flatMap { Int($0) } ?? 0
            let end = range.flatMap { $0.count > 1 ? Int($0[1]) : nil }.map { $0 + 1 }
            let span = first..<(end ?? bytes.count)
            let status =
                range == nil
                ? "200 OK"
                : """
                206 Partial Content
                Content-Range: bytes \(span.lowerBound)-\(span.upperBound - 1)/\(bytes.count)
                """
            let head = "HTTP/1.1 \(status)\n\(fields)Content-Length: \(span.count)"
            guard connection.answer(head, bytes[span].prefix(200_000)) else { return false }
            while request.path == "/a", !goesOn.value.withLock({ $0 }) {
                guard connection.pause(milliseconds: 5) else { return false }
            }
            return connection.send(Array(bytes[span].dropFirst(200_000)))
        }
    }

    private func job(_ url: String, _ id: Int) throws -> Download {
        try .fetching(url, id: id, target: "Caches/\(id)")
    }

    /// Pauses a transfer that has bytes, and has another one fetched until it is resumed.
    private func pauseAmid(
        _ rig: TransferRig, _ server: OriginServer, _ goesOn: Box<Bool>
    ) async throws -> TransferResult? {
        rig.loop.submit([try job(server.url + "/a", 1)])
        while rig.parts.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        rig.loop.pause(1)
        let other = await rig.run(try job(server.url + "/b", 2))
        #expect(rig.bytes(other) == bytes)
        goesOn.value.withLock { $0 = true }
        rig.loop.resume(1)
        return await rig.ends()[1]
    }

    @Test func itsPlaceGoesToAnotherTransfer() async throws {
        let goesOn = Box(false)
        let origin = origin("ETag: \"1\"\n", goesOn: goesOn)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig {
            $0.jobs = 1
            $0.segments = 1
        }
        let result = try await pauseAmid(rig, server, goesOn)
        #expect(rig.bytes(result) == bytes)
        let requests = origin.requests.filter { $0.path == "/a" }
        #expect(requests.count == 2)
        #expect(requests.last?.value(of: "Range")?.hasPrefix("bytes=") == true)
        #expect(requests.last?.value(of: "If-Range") == "\"1\"")
        #expect(result?.received?.cost.requests == 2)
        #expect(result?.received?.cost.bytesReceived == Int64(bytes.count))
        let isQuiet = rig.told.allSatisfy {
            if case .retry = $0.event { false } else { true }
        }
        #expect(isQuiet)
    }

    @Test func pausingFreesConnectionsAndKeepsBytes() async throws {
        let goesOn = Box(false)
        let origin = origin("ETag: \"1\"\n", goesOn: goesOn)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig {
            $0.jobs = 3
            $0.segments = 3
        }
        let result = try await pauseAmid(rig, server, goesOn)
        #expect(rig.bytes(result) == bytes)
        #expect(origin.requests.count { $0.path == "/a" && $0.value(of: "Range") == nil } == 1)
        let cost = try #require(result?.received?.cost)
        #expect(cost.bytesReceived < Int64(bytes.count) + 1 << 20)
    }

    @Test func whatCouldNotGoOnKeepsItsConnection() async throws {
        let goesOn = Box(false)
        let origin = origin("", goesOn: goesOn)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.jobs = 2 }
        let result = try await pauseAmid(rig, server, goesOn)
        #expect(rig.bytes(result) == bytes)
        #expect(origin.requests.count { $0.path == "/a" } == 1)
    }

    @Test func aRequestWithoutAnAnswerIsMadeLater() async throws {
        let bytes = bytes
        let asked = Box(0)
        let origin = ClosureOrigin { request, _, connection in
            let isFirst = asked.value.withLock { asked in
                asked += 1
                return asked == 1
            }
            if isFirst { return connection.pause(milliseconds: 60_000) }
            return connection.answer("HTTP/1.1 200 OK\nContent-Length: \(bytes.count)", bytes)
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try TransferRig { $0.jobs = 1 }
        rig.loop.submit([try job(server.url + "/a", 1)])
        while origin.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        rig.loop.pause(1)
        #expect(rig.bytes(await rig.run(try job(server.url + "/b", 2))) == bytes)
        rig.loop.resume(1)
        #expect(rig.bytes(await rig.ends()[1]) == bytes)
        #expect(origin.requests.map(\.path) == ["/a", "/b", "/a"])
    }
}
