@testable import MirrorKit
import Testing

/// Which next page of a list is asked for.
@Suite struct NextPageTests {
    private func next(_ reference: String, at url: String) throws -> String? {
        let place = try SourceURL(url)
        let head = ResponseHead(
            status: 200, version: .http2, [("Link", "<\(reference)>; rel=next")])
        let answer = Answer(
            head, provenance: Provenance(source: SourceKey(place), answeredBy: url), url: place,
            at: Instant(seconds: 0))
        return try ManifestFetch.next(after: answer, at: place, of: "l")?.requestText
    }

    @Test(arguments: [
        ("?page=2", "https://h.example/l", "https://h.example/l?page=2"),
        ("http://other.example/2", "http://h.example/l", "http://other.example/2"),
        ("https://other.example/2", "http://h.example/l", "https://other.example/2"),
    ])
    func aPageIsAskedFor(reference: String, url: String, page: String) throws {
        #expect(try next(reference, at: url) == page)
    }

    /// A page in clear after one over TLS, a file of this machine, and what is no URL.
    @Test(arguments: [
        ("http://h.example/2", "https://h.example/l"), ("file:///etc/passwd", "http://h.example/l"),
        ("ftp://h.example/2", "http://h.example/l"), ("http://h.example:x/", "http://h.example/l"),
    ])
    func anyOtherIsAnError(reference: String, url: String) {
        #expect(throws: MirrorError.self) { try next(reference, at: url) }
    }
}
