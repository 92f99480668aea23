@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Which steps of a plan have one download.
@Suite struct PlannedDownloadsTests {
    /// How many requests two resources of one URL make, of which the second was changed.
    private func requests(
        pinned pin: Digest? = nil, _ change: (inout Resource) throws -> Void
    ) async throws -> Int {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let session = try MirrorSession(root: folder.full("root"))
        let url = try SourceURL("https://a.example/f")
        var one = Resource(target: try Target("Caches/1"), url: url)
        var other = Resource(target: try Target("Caches/2"), url: url)
        if let pin { (one.digests, other.digests) = ([pin], [pin]) }
        try change(&other)
        let plan = try await session.plan(Manifest(name: "m", resources: [one, other]))
        return PlannedDownloads(plan, AtomicSets(plan)).numbers.count
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

    /// Only a digest proves that another resource's mirror has the same bytes.
    @Test func pinnedFilesUseEachOthersMirrors() async throws {
        let pin = try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32)))
        let mirror = Source(url: try SourceURL("https://b.example/f"))
        #expect(try await requests { $0.mirrors = [mirror] } == 2)
        #expect(try await requests(pinned: pin) { $0.mirrors = [mirror] } == 1)
        let file = Source(url: try SourceURL("file:///f"))
        #expect(try await requests(pinned: pin) { $0.mirrors = [file] } == 2)
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
