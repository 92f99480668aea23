@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// Hosts that do not answer, beside others: more files of each than the loop knows at once.
@Suite(.timeLimit(.minutes(15))) struct FeedTests {
    private static let count = 600

    private func resources(_ folder: String, _ url: String) throws -> [Resource] {
        try (0..<Self.count).map {
            Resource(
                target: try Target("Caches/\(folder)/\($0)"), url: try SourceURL("\(url)/\($0)"))
        }
    }

    /// Large enough bodies fill what may wait for the disk too.
    @Test(arguments: [10, 60_000])
    func aSilentHostDoesNotKeepAnotherWaiting(size: Int) async throws {
        let rig = try SessionRig(holdingAfter: 1) {
            $0.transfer.retries = 0
            $0.transfer.stallTimeout = .seconds(120)
        }
        let shelf = MemoryShelf()
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        for number in 0..<Self.count {
            shelf.put("/\(number)", TestBytes.make(size, seed: UInt64(number)))
            rig.shelf.put("/\(number)", Array("slow \(number)".utf8))
        }
        let manifest = Manifest(
            name: "hosts",
            resources: try resources("slow", rig.server.url) + resources("quick", server.url))
        var quick = 0
        var failures = 0
        for try await event in rig.session.execute(try await rig.session.plan(manifest)) {
            switch event.body {
            case .done(let done) where done.target.description.contains("quick"):
                quick += 1
                if quick == Self.count { rig.origin.release() }
            case .failed:
                failures += 1
                rig.origin.release()
            default: break
            }
        }
        #expect(quick == Self.count)
        #expect(failures == 0)
        #expect(rig.bytes("Caches/slow/599") == Array("slow 599".utf8))
    }

    /// Nobody gets an answer before everybody has asked.
    @Test func retriesDoNotKeepOthersWaiting() async throws {
        let asked = Mutex<Set<String>>([])
        let origin = ClosureOrigin { request, _, connection in
            let isOpen = asked.withLock { asked in
                asked.insert(request.path)
                return asked.count == Self.count
            }
            return isOpen
                ? connection.answer("HTTP/1.1 200 OK\nContent-Length: 2", Array("ok".utf8))
                : connection.answer("HTTP/1.1 503 Later\nContent-Length: 0")
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let rig = try SessionRig {
            $0.transfer.retries = 60
            // Longer and longer waits: a slow machine must get round to those that have not asked.
            $0.transfer.maxWait = .seconds(60)
        }
        let manifest = Manifest(name: "later", resources: try resources("later", server.url))
        let summary = try await rig.session.sync(manifest)
        #expect(summary[.fetched] == Self.count)
    }
}
