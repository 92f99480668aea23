@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Which steps of a plan share one request.
@Suite struct RequestSharingTests {
    /// How many requests two resources of one URL make, of which the second was changed.
    private func requests(_ change: (inout Resource) throws -> Void) async throws -> Int {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let session = try MirrorSession(root: folder.full("root"))
        let url = try SourceURL("https://a.example/f")
        let one = Resource(target: try Target("Caches/1"), url: url)
        var other = Resource(target: try Target("Caches/2"), url: url)
        try change(&other)
        let plan = try await session.plan(Manifest(name: "m", resources: [one, other]))
        return RequestSharing(plan, AtomicSets(plan)).leaders.count
    }

    @Test func theSameRequestIsMadeOnce() async throws {
        #expect(try await requests { _ in } == 1)
        #expect(try await requests { $0.priority = 5 } == 1)
        #expect(try await requests { $0.isExecutable = true } == 1)
    }

    @Test func differentRequestsAreNotShared() async throws {
        let header = try HeaderField(name: "Accept", value: Template(literal: "text/plain"))
        #expect(try await requests { $0.primary.url = try SourceURL("https://a.example/f?x") } == 2)
        #expect(try await requests { $0.primary.headers = [header] } == 2)
        #expect(try await requests { $0.method = .post(body: Template(literal: "x")) } == 2)
    }

    /// A page of a portal may be the one and not the other.
    @Test func pagesAndOtherFilesShareNoRequest() async throws {
        #expect(try await requests { $0.target = try Target("Caches/2.json") } == 2)
        #expect(try await requests { $0.target = try Target("Caches/2.html") } == 1)
    }

    @Test func differentDeclarationsShareNoRequest() async throws {
        let digest = try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32)))
        #expect(try await requests { $0.size = 5 } == 2)
        #expect(try await requests { $0.mediaType = MediaRange("text/plain") } == 2)
        #expect(try await requests { $0.digests = [digest] } == 2)
        #expect(
            try await requests { $0.pieces = Pieces(length: 10, packed: digest.bytes) } == 2)
    }
}
