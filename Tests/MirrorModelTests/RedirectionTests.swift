@testable import MirrorKit
import Testing

/// What goes along from hop to hop, and what is not followed.
@Suite struct RedirectionTests {
    private func begin(_ text: String = "https://a.example/f", isPost: Bool = false) throws
        -> Redirection
    {
        Redirection(url: try SourceURL(text), isPost: isPost)
    }

    /// Whether credentials stay behind at each place, once they did.
    @Test(
        "What was left behind stays behind",
        arguments: [
            ("/g /h /i", [false, false, false]),
            ("https://b.example/g", [true]),
            ("https://b.example/g https://b.example/h", [true, true]),
            ("https://b.example/g /h /i", [true, true, true]),
            ("https://b.example/g https://a.example/h", [true, true]),
            ("https://b.example/g https://a.example/h https://a.example/i", [true, true, true]),
            ("https://b.example/g https://c.example/h https://b.example/i", [true, true, true]),
            ("https://b.example/g https://c.example/h https://a.example/i", [true, true, true]),
            ("/g https://b.example/h", [false, true]),
            ("https://a.example:8443/g", [true]),
            ("HTTPS://A.example:443/g", [false]),
        ])
    func credentialsStayBehind(locations: String, expected: [Bool]) throws {
        var way = try begin()
        var found: [Bool] = []
        for location in locations.split(separator: " ") {
            try way.follow(to: String(location), status: 302)
            found.append(way.hasLeftOrigin)
        }
        #expect(found == expected)
    }

    @Test func anotherSchemeIsAnotherOrigin() throws {
        var way = try begin("http://a.example/f")
        try way.follow(to: "https://a.example/f", status: 301)
        #expect(way.hasLeftOrigin)
        #expect(throws: ResponseError.self) {
            try way.follow(to: "http://a.example/f", status: 301)
        }
    }

    @Test(arguments: [
        "http://a.example/f", "file:///etc/passwd", "ftp://a.example/f", "http://[::1",
    ])
    func tlsNeverLeadsToPlainPlaces(location: String) throws {
        var way = try begin()
        let refusal = #expect(throws: ResponseError.self) {
            try way.follow(to: location, status: 302)
        }
        #expect(refusal?.code == .redirectRefused)
        #expect(way.hops == 0)
        #expect(way.url.path == "/f")
    }

    @Test func tenHopsAreFollowedAndNoEleventh() throws {
        var way = try begin()
        for hop in 1...10 { try way.follow(to: "/\(hop)", status: 302) }
        #expect(way.url.path == "/10")
        let refusal = #expect(throws: ResponseError.self) { try way.follow(to: "/11", status: 302) }
        #expect(refusal?.code == .tooManyRedirects)
    }

    @Test(
        "A POST goes along within its origin only, and by 307 and 308 only",
        arguments: [
            (301, "/g", false), (302, "/g", false), (303, "/g", false), (307, "/g", true),
            (308, "/g", true), (303, "https://b.example/g", false),
        ])
    func aPostGoesAlong(status: Int, location: String, isPost: Bool) throws {
        var way = try begin(isPost: true)
        try way.follow(to: location, status: status)
        #expect(way.isPost == isPost)
    }

    @Test(arguments: [307, 308]) func aPostCrossesNoOrigin(status: Int) throws {
        var way = try begin(isPost: true)
        #expect(throws: ResponseError.self) {
            try way.follow(to: "https://b.example/g", status: status)
        }
        #expect(!way.hasLeftOrigin)
    }

    @Test(
        arguments: [
            ("/a b", "https://a.example/a%20b"), ("/a|b", "https://a.example/a%7Cb"),
            ("/\"a\"", "https://a.example/%22a%22"), ("/a%20b", "https://a.example/a%20b"),
            ("/100%", "https://a.example/100%25"), ("/%4", "https://a.example/%254"),
            ("\\g\\h", "https://a.example/g/h"), ("g?a|b c", "https://a.example/g?a%7Cb%20c"),
            ("https://b.example/{x}[y]", "https://b.example/%7Bx%7D%5By%5D"),
            ("//[::1]:8443/[y]", "https://[::1]:8443/%5By%5D"),
            ("/caf\u{E9}", "https://a.example/caf%C3%A9"),
        ])
    func aLocationIsReadAsBrowsersReadIt(location: String, expected: String) throws {
        var head = ResponseHead(status: 302)
        head.append(.location, location.utf8)
        var way = try begin()
        try way.follow(to: try #require(head.redirectLocation), status: 302)
        #expect(way.url.requestText == expected)
    }

    @Test func aLatin1LocationIsPassedUnchanged() throws {
        var head = ResponseHead(status: 302)
        head.append(.location, [0x2F, 0x63, 0xE9] as [UInt8])
        #expect(head.redirectLocation == "/c%E9")
        head.append(.location, "/other".utf8)
        #expect(head.redirectLocation == nil)
    }
}

extension Redirection {
    /// Follows a redirect whose response says nothing but a place.
    fileprivate mutating func follow(to location: String, status: Int) throws(ResponseError) {
        try follow(ResponseHead(status: status), to: location, at: Instant(milliseconds: 0))
    }
}
