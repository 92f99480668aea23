import MirrorTestSupport
import Testing

/// A served tree in a real browser.
@Suite(.timeLimit(.minutes(10)), .enabled(if: HeadlessBrowser.isThere, "chromium is not installed"))
struct ServeBrowserTests {
    private static let odd = "a b % ü #?&'<script>document.title='ran'<script>.txt"

    private func served() async throws -> ServedRoot {
        let stage = try SyncedStage()
        try await stage.sync([
            stage.entry("Documents/\(Self.odd)", Array("tüt\n".utf8), url: "1"),
            stage.entry("Documents/sub folder/x", [1], url: "2"),
            stage.entry("Documents/\(String(repeating: "long", count: 60))", [1, 2], url: "3"),
        ])
        return try ServedRoot(stage)
    }

    @Test(arguments: [true, false])
    func listingFitsEveryWidthAndIsReadable(isDark: Bool) async throws {
        let root = try await served()
        defer { root.end() }
        let page = try await root.answer("GET /Documents/").body
        let findings = try await HeadlessBrowser.look(at: page, isDark: isDark)
        #expect(findings == HeadlessBrowser.nothingFound(isDark: isDark))
    }

    @Test func oddNamesAreTextAndTheirLinksLead() async throws {
        let root = try await served()
        defer { root.end() }
        let listing = try await HeadlessBrowser.document(at: root.url + "/Documents/")
        #expect(listing.contains("<title>Index of /Documents/</title>"), "\(listing)")
        let link = try #require(listing.split(separator: "\"").first { $0.hasPrefix("./a%20b") })
        let text = try await HeadlessBrowser.document(
            at: root.url + "/Documents/" + link.dropFirst(2).replacing("&amp;", with: "&"))
        #expect(text.contains("tüt"), "\(text)")
        let below = try await HeadlessBrowser.document(at: root.url + "/Documents/sub folder/")
        #expect(below.contains("<a href=\"../\">../</a>"), "\(below)")
        #expect(below.contains("<a href=\"./x\">x</a>"), "\(below)")
    }
}
