import Testing

@testable import MirrorKit

/// Where a list goes on, by the field `Link`.
@Suite struct LinkFieldTests {
    @Test(arguments: [
        ("<https://api.example/list?page=2>; rel=\"next\"", "https://api.example/list?page=2"),
        ("</x>; rel=prev, <?page=2>; rel=next", "?page=2"),
        ("</x,y>; title=\"a, <b>; rel=next\"; rel=\"last  NEXT\"", "/x,y"),
        ("<n>;rel = \"next\" ; x", "n"), ("</first>; rel=\"first\", </n>; REL=next", "/n"),
    ])
    func nextIsFound(field: String, reference: String) {
        #expect(ResponseHead(status: 200, [("Link", field)]).nextPage == reference)
    }

    /// The second `rel` of a link counts for nothing (RFC 8288 §3.3).
    @Test(arguments: [
        "", "</n>", "</n>; rel=prev; rel=next", "n; rel=next", "<n; rel=next", "</n>; rel=nextish",
        "</n>; title=\"rel=next\"",
    ])
    func nothingElseIs(field: String) {
        #expect(ResponseHead(status: 200, [("Link", field)]).nextPage == nil)
    }
}
