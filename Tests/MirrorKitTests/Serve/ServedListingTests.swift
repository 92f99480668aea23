@testable import MirrorKit
import Testing

/// Listings: their links lead to the entries, and no name is taken for HTML.
@Suite struct ServedListingTests {
    private func listing(_ names: [String]) throws -> ServedListing {
        let sha256 = try #require(Digest(.sha256, bytes: [UInt8](repeating: 1, count: 32)))
        var listing = ServedListing(path: "Documents/a b")
        for name in names {
            let file = ServedFile(
                target: try Target("Documents/a"),
                stamp: FileStamp(size: 1536, modified: 0, changed: 0, inode: 1), sha256: sha256,
                mediaType: nil)
            let isFull = listing.add(ServedListing.Entry(name: name, file: file))
            #expect(!isFull)
        }
        return listing
    }

    private func text(_ answer: ServedAnswer) -> String {
        if case .text(let bytes) = answer.body {
            String(decoding: bytes, as: UTF8.self)
        } else {
            ""
        }
    }

    @Test func namesAreEscapedInTextAndInLinks() throws {
        let html = text(
            try listing([
                "<script>alert('x')</script>", "a\"b&c?#%.txt", "javascript:x", "\u{202E}gpj",
            ])
            .answer(asJSON: false))
        #expect(html.contains("<title>Index of /Documents/a b/</title>"))
        #expect(!html.contains("<script"))
        #expect(html.contains(">&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</a>"))
        #expect(html.contains("href=\"./a%22b&amp;c%3F%23%25.txt\">a&quot;b&amp;c?#%.txt</a>"))
        #expect(html.contains("href=\"./javascript:x\""))
        #expect(html.contains(">\\u{202e}gpj</a>"))
        #expect(html.contains("<td>1.5 KiB<td>1970-01-01 00:00 UTC"))
        #expect(html.contains("<a href=\"../\">../</a>"))
    }

    @Test func programsGetJSON() throws {
        var listing = try listing(["x"])
        _ = listing.add(ServedListing.Entry(name: "y"))
        let answer = listing.answer(asJSON: true)
        #expect(answer["Content-Type"] == "application/json")
        #expect(answer["Vary"] == "Accept")
        let hex = String(repeating: "01", count: 32)
        #expect(
            text(answer) == """
                {"v":1,"path":"Documents/a b","next":null,"entries":[{"name":"x","type":"file",\
                "size":1536,"modified":"1970-01-01T00:00:00.000Z","sha256":"\(hex)"},\
                {"name":"y","type":"folder","size":null,"modified":null,"sha256":null}]}

                """)
    }

    @Test func aLongListingContinuesAfterItsLast() throws {
        var listing = try listing((0..<ServedListing.mostEntries - 1).map { "\($0)" })
        _ = listing.add(ServedListing.Entry(name: "ö&"))
        #expect(listing.answer(asJSON: true)["Link"] == nil)
        let isFull = listing.add(ServedListing.Entry(name: "last"))
        #expect(isFull)
        #expect(listing.entries.count == ServedListing.mostEntries)
        #expect(listing.answer(asJSON: true)["Link"] == "<?after=%C3%B6%26/>; rel=\"next\"")
        #expect(text(listing.answer(asJSON: false)).contains("href=\"?after=%C3%B6%26/\">more"))
    }

    @Test(
        arguments: [
            ("application/json", true), ("text/html", false), ("*/*", false),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false),
            ("application/json;q=0.5, text/html;q=0.4", true), ("application/json, */*", false),
            ("application/json, text/plain, */*;q=0.1", true), ("", false),
            ("text/html;q=0, */*", true), ("application/json;q=inf, text/html;q=0.1", false),
            ("application/json;q=nan", false), ("application/json;q=1e30", false),
            ("application/json;q=-1e30", false), ("a;q=-1, application/json;q=0.001", true),
        ])
    func acceptDecides(_ accept: String, _ isJSON: Bool) {
        var request = ServedRequest(method: "GET", path: "/")
        #expect(!request.prefersJSON)
        request.add(.accept, accept)
        #expect(request.prefersJSON == isJSON)
    }
}
