import Testing

@testable import MirrorModel

/// Where a list goes on, by the field `Link`.
@Suite struct LinkFieldTests {
    private static let here = "https://api.example/a/list?page=1"

    @Test(arguments: [
        ("<https://api.example/a/list?page=2>; rel=\"next\"", "https://api.example/a/list?page=2"),
        ("</x>; rel=prev, <?page=2>; rel=next", "https://api.example/a/list?page=2"),
        ("</x,y>; title=\"a, <b>; rel=next\"; rel=\"last  NEXT\"", "https://api.example/x,y"),
        ("<n>;rel = \"next\" ; x", "https://api.example/a/n"),
        ("</first>; rel=\"first\", </n>; REL=next", "https://api.example/n"),
    ])
    func nextIsFound(field: String, url: String) throws {
        let found = LinkField.next(in: Array(field.utf8), at: try SourceURL(Self.here))
        #expect(found?.requestText == url)
    }

    /// The second `rel` of a link counts for nothing (RFC 8288 §3.3).
    @Test(arguments: [
        "", "</n>", "</n>; rel=prev; rel=next", "n; rel=next", "<n; rel=next", "</n>; rel=nextish",
        "<ftp://x/>; rel=next", "</n>; title=\"rel=next\"",
    ])
    func nothingElseIs(field: String) throws {
        let here = try SourceURL(Self.here)
        #expect(LinkField.next(in: Array(field.utf8), at: here) == nil)
    }
}
