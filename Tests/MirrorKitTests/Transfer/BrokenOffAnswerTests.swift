import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// Answers that are ended from this side: they say nothing of how many requests a host can take.
@Suite(.timeLimit(.minutes(15))) struct BrokenOffAnswerTests {
    /// Refuses everything, with more bytes than are read to keep a connection.
    private struct LongRefusals: Responder {
        let endsWithConnection: Bool

        func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
            let length = endsWithConnection ? "Connection: close" : "Content-Length: 100000"
            let head = "HTTP/1.1 404 Not Found\r\n\(length)\r\n\r\n"
            guard connection.send(Array(head.utf8)) else { return false }
            return connection.send([UInt8](repeating: 7, count: 100_000)) && !endsWithConnection
        }
    }

    /// Runs jobs to their ends; returns how many transfers at once suited the hosts.
    private func learned(
        _ jobs: [Download], _ adapt: (inout Configuration) -> Void = { _ in }
    ) async throws -> [Int] {
        let folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        let index = try Index.open(root, now: Instant(seconds: 0))
        var configuration = Configuration()
        adapt(&configuration)
        let (ends, continuation) = AsyncStream.makeStream(of: Int.self)
        let limits = Box<[Host: Int]>([:])
        let loop = try TransferLoop(
            configuration: configuration, parts: TreePartStore(root: root, index: index),
            observer: EndObserver(continuation),
            remember: { learned in limits.value.withLock { $0 = learned } })
        loop.submit(jobs)
        var left = jobs.count
        for await _ in ends {
            left -= 1
            if left == 0 { break }
        }
        loop.stop()
        return limits.value.withLock { Array($0.values) }
    }

    @Test(arguments: [true, false])
    func aRefusalNeedNotBeReadWhole(endsWithConnection: Bool) async throws {
        let server = try OriginServer(
            responder: LongRefusals(endsWithConnection: endsWithConnection))
        defer { server.stop() }
        let limits = try await learned(
            try (0..<60).map {
                try .fetching(server.url + "/\($0)", id: $0, target: "Caches/\($0)")
            })
        #expect(limits.allSatisfy { $0 >= 8 }, "\(limits)")
    }

    @Test func furtherConnectionsThatHaveAllTheirBytes() async throws {
        let shelf = MemoryShelf()
        shelf.put("/f", TestBytes.make(32 << 20, seed: 1))
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        let limits = try await learned([try .fetching(server.url + "/f")]) {
            $0.segments = 4
        }
        #expect(limits.allSatisfy { $0 >= 8 }, "\(limits)")
    }
}

/// Says of each job that it has ended.
private struct EndObserver: TransferObserver {
    private let ends: AsyncStream<Int>.Continuation

    init(_ ends: AsyncStream<Int>.Continuation) { self.ends = ends }

    func tell(_ download: Download, _ event: TransferEvent) {
        if case .ended = event { ends.yield(download.id) }
    }
}
