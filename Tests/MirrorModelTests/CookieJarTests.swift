@testable import MirrorKit
import Testing

/// Cookies of a chain of redirects (RFC 6265).
@Suite struct CookieJarTests {
    /// The Cookie field of the request that a redirect leads to.
    private func cookie(_ fields: [String], from: String = "https://a.example/x/y", to: String)
        throws -> String?
    {
        var way = Redirection(url: try SourceURL(from), isPost: false)
        let head = ResponseHead(status: 302, fields.map { ("Set-Cookie", $0) })
        try way.follow(head, to: to, at: Instant(milliseconds: 1_700_000_000_000))
        return way.cookie
    }

    @Test(arguments: [
        // The value is everything up to the first semicolon, without blanks at its ends.
        (["s=1"], "s=1"), (["s = a b=c ; HttpOnly"], "s=a b=c"), (["s=\"q\""], "s=\"q\""),
        (["a=1", "b=2"], "a=1; b=2"), (["a=1", "a=2"], "a=2"),
        // Longer paths come first.
        (["a=1; Path=/", "b=2; Path=/x"], "b=2; a=1"),
        // Deleted, and deleted at last.
        (["a=1", "a=; Max-Age=0"], nil), (["a=1; Max-Age=-1"], nil),
        (["a=1; Expires=Thu, 01-Jan-1970 00:00:01 GMT"], nil),
        (["a=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=60"], "a=1"),
        (["a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:01 GMT"], "a=1"),
        (["a=1; Expires=never"], "a=1"), (["a=1; Max-Age=99999999999999999999"], "a=1"),
        // No cookie.
        (["=1"], nil), (["a"], nil), ([""], nil), ([";a=1"], nil), (["a=\u{1}"], nil),
        // Path and Secure.
        (["a=1; Path=/x"], "a=1"), (["a=1; Path=/xz"], nil), (["a=1; Path=x/z"], "a=1"),
        (["a=1; Path=/x/"], "a=1"), (["a=1; Secure"], "a=1"),
        // A domain that the host is not in is refused.
        (["a=1; Domain=example"], "a=1"), (["a=1; Domain=.a.example"], "a=1"),
        (["a=1; Domain=b.example"], nil), (["a=1; Domain=ample"], nil), (["a=1; Domain="], "a=1"),
    ])
    func cookiesAreSentToTheirOwnHost(fields: [String], expected: String?) throws {
        #expect(try cookie(fields, to: "/x/z") == expected)
    }

    @Test(arguments: [
        ("https://b.example/x/z", "a=1"), ("https://b.example/x/z", "a=1; Domain=example"),
        ("https://c.a.example/x/z", "a=1; Domain=a.example"), ("https://a.example:8443/x/z", "a=1"),
        ("/other", "a=1"),
    ])
    func otherPlacesGetNone(place: String, field: String) throws {
        #expect(try cookie([field], to: place) == nil)
    }

    @Test func secureCookiesNeedTLS() throws {
        let fields = ["a=1; Secure; Path=/", "b=2; Path=/"]
        #expect(try cookie(fields, from: "http://a.example/", to: "/z") == "b=2")
    }

    @Test func addressesShareNoDomain() throws {
        #expect(try cookie(["a=1; Domain=0.0.1"], from: "http://127.0.0.1/", to: "/") == nil)
    }

    @Test func theJarIsBounded() throws {
        let many = try cookie((0..<1000).map { "n\($0)=1" }, to: "/x/z")
        #expect(many?.split(separator: ";").count == 50)
        #expect(try cookie(["a=" + String(repeating: "x", count: 5000)], to: "/x/z") == nil)
    }

    @Test func cookiesLastForTheWholeChain() throws {
        var way = Redirection(url: try SourceURL("https://a.example/x"), isPost: false)
        let now = Instant(milliseconds: 0)
        try way.follow(ResponseHead(status: 302, [("Set-Cookie", "a=1")]), to: "/y", at: now)
        #expect(way.cookie == "a=1")
        try way.follow(ResponseHead(status: 302), to: "/z", at: now)
        #expect(way.cookie == "a=1")
        try way.follow(ResponseHead(status: 302), to: "https://b.example/", at: now)
        #expect(way.cookie == nil)
        try way.follow(ResponseHead(status: 302), to: "https://a.example/z", at: now)
        #expect(way.cookie == nil)
    }
}
