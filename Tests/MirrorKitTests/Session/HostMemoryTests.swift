@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// A run begins with the limit that an earlier run learned of the host.
@Suite(.timeLimit(.minutes(15))) struct HostMemoryTests {
    private func host(_ port: UInt16) throws -> Host {
        Host(try SourceURL("http://127.0.0.1:\(port)/"))
    }

    @Test func indexRemembersThePaceOfHosts() throws {
        let tree = try PromotionTree()
        #expect(try tree.index.learnedLimits() == [:])
        try tree.index.remember(learnedLimits: [try host(80): 32, try host(81): 2])
        try tree.index.remember(learnedLimits: [try host(81): 9])
        #expect(try tree.index.learnedLimits() == [try host(80): 32, try host(81): 9])
    }

    @Test func onlyTheLastHostsAreRemembered() throws {
        let tree = try PromotionTree()
        let time = Instant(seconds: 1_000_000)
        try tree.index.write { (batch: inout Database) throws(IndexError) in
            for number in 0..<300 {
                guard let host = Host("h\(number).example:443") else { continue }
                try batch.put(
                    learnedLimits: [host: number + 1],
                    at: Instant(seconds: time.seconds + Int64(number)))
            }
        }
        let limits = try tree.index.learnedLimits()
        #expect(limits.count == 256)
        #expect(limits.values.min() == 45)
    }

    /// Nobody is answered before so many have asked: with the number that a run begins with by itself
    /// the last of them would never ask.
    @Test func aRunBeginsAtTheRememberedPace() async throws {
        let count = 30
        let asked = Mutex(0)
        let gate = Semaphore()
        let origin = ClosureOrigin { _, _, connection in
            let isLast = asked.withLock { asked in
                asked += 1
                return asked == count
            }
            if isLast { for _ in 1..<count { gate.post() } } else { gate.wait() }
            return connection.answer("HTTP/1.1 200 OK\nContent-Length: 2", Array("ok".utf8))
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let root = try RootDirectory(opening: folder.path)
        let index = try Index.open(root, now: Instant(seconds: 0))
        let name = Host(try SourceURL(server.url))
        try index.remember(learnedLimits: [name: count])
        try index.close()
        let session = try MirrorSession(root: folder.path)
        let resources = try (0..<count).map {
            Resource(target: try Target("Caches/\($0)"), url: try SourceURL("\(server.url)/\($0)"))
        }
        let summary = try await session.sync(Manifest(name: "m", resources: resources))
        #expect(summary[.fetched] == count)
        // And it is known again: what it got in the end.
        let again = try Index.openForReading(root)
        #expect(try again.learnedLimits()[name] ?? 0 >= HostPace.start)
    }
}
