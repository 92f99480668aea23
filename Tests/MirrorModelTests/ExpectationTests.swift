@testable import MirrorKit
import Testing

/// Where a page instead of a file can be told: the extension says so, or the version that was there.
@Suite struct ExpectationTests {
    private func refusesHTML(
        _ path: String, replacing stored: String? = nil,
        _ change: (inout Resource) -> Void = { _ in }
    ) throws -> Bool {
        var resource = Resource(
            target: try Target(path), url: try SourceURL("https://a.example/f"))
        change(&resource)
        return Expectation(of: resource, replacing: stored).refusesHTML
    }

    @Test(arguments: [
        ("Caches/a.zip", true), ("Caches/feed.json", true), ("Caches/a.HTML", false),
        ("Caches/index.htm", false), ("Caches/page.php", false), ("Caches/noextension", false),
        ("Caches/.html", false),
    ])
    func theExtensionSaysWhatAFileCannotBe(path: String, isRefused: Bool) throws {
        #expect(try refusesHTML(path) == isRefused)
    }

    @Test(
        arguments: [("application/zip", true), ("text/html", false), (nil, false)]
            as [(String?, Bool)])
    func theStoredVersionRulesOutTypes(stored: String?, isRefused: Bool) throws {
        #expect(try refusesHTML("Caches/noextension", replacing: stored) == isRefused)
        #expect(try refusesHTML("Caches/a.zip", replacing: stored))
    }

    @Test func aDeclaredPinOrMediaTypeDecidesAlone() throws {
        let pin = try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32)))
        let weak = try #require(Digest(.md5, bytes: Array(repeating: 1, count: 16)))
        #expect(try !refusesHTML("Caches/a.zip") { $0.digests = [pin] })
        #expect(try !refusesHTML("Caches/a.zip") { $0.mediaType = MediaRange("*/*") })
        #expect(try refusesHTML("Caches/a.zip") { $0.digests = [weak] })
    }
}
