import Testing

@testable import MirrorModel

/// Whether requests are expected before there is a plan.
struct LikelyRequestTests {
    private func manifest(
        _ urls: [String], _ change: (inout Resource) -> Void = { _ in }
    ) throws -> Manifest {
        let resources = try urls.enumerated().map { number, url in
            var resource = Resource(
                target: try Target("Caches/\(number)"), url: try SourceURL(url))
            change(&resource)
            return resource
        }
        return Manifest(name: "m", resources: resources)
    }

    @Test func anEmptyTreeNeedsTheFirstThatIsNoFile() throws {
        let manifest = try manifest(["file:///a", "https://h.example/b", "http://h.example/c"])
        let likely = manifest.likelyRequest(inEmptyTree: true)
        #expect(likely == (try SourceURL("https://h.example/b")))
        #expect(try self.manifest(["file:///a"]).likelyRequest(inEmptyTree: true) == nil)
    }

    @Test func aTreeIsMostLikelyCompleteUnlessItsFilesAreAlwaysAskedFor() throws {
        let urls = ["http://h.example/a"]
        let kept = try manifest(urls) { $0.refresh = .never }
        #expect(kept.likelyRequest(inEmptyTree: false) == nil)
        let asked = try manifest(urls) { $0.refresh = .always }
        #expect(asked.likelyRequest(inEmptyTree: false) == (try SourceURL(urls[0])))
        let pinned = try manifest(urls) {
            $0.refresh = .always
            $0.digests = [Digest(.sha256, bytes: Array(repeating: 7, count: 32))!]
        }
        #expect(pinned.likelyRequest(inEmptyTree: false) == nil)
    }
}
