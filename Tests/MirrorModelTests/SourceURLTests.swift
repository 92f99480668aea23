@testable import MirrorKit
import Testing

@Suite struct SourceURLTests {
    /// RFC 3986 §5.4: what references resolve to against `http://a/b/c/d;p?q`, fragments dropped.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"),
        ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("%2e%2E/g", "http://a/b/g"), (".%2e/g", "http://a/b/g"), ("%2e/g", "http://a/b/c/g"),
    ])
    func referencesResolveAsTheStandardSays(reference: String, result: String) throws {
        let base = try SourceURL("http://a/b/c/d;p?q")
        #expect(try SourceURL(reference, relativeTo: base).requestText == result)
    }

    @Test(arguments: [
        ("HTTPS://Origin.EXAMPLE/A", "https://origin.example/A"),
        ("https://h:443/x", "https://h/x"), ("https://h:8443", "https://h:8443/"),
        ("http://h:/x", "http://h/x"), ("http://h", "http://h/"), ("http://h?q", "http://h/?q"),
        ("http://127.0.0.1/x", "http://127.0.0.1/x"),
        ("http://[0:0:0:0:0:0:0:1]:81/", "http://[::1]:81/"),
        ("http://[2001:DB8::0:1]/", "http://[2001:db8::1]/"),
        ("http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/"),
        ("https://h/é?ü", "https://h/%C3%A9?%C3%BC"), ("https://h/a%2fb", "https://h/a%2fb"),
        ("https://h./x", "https://h./x"), ("file:///a/../b", "file:///b"),
        ("file:/a", "file:///a"), ("file://localhost/a", "file:///a"),
    ])
    func addressesHaveOneSpelling(text: String, result: String) throws {
        #expect(try SourceURL(text).requestText == result)
    }

    @Test(arguments: [
        ("", SourceURLError.Reason.empty), ("ftp://h/x", .scheme("ftp")),
        ("localhost:80/x", .scheme("localhost")),
        ("x/y", .relativeWithoutBase), ("http:///x", .missingHost), ("http:x", .missingHost),
        ("http://h:0/", .port("0")), ("http://h:65536/", .port("65536")),
        ("http://h:8a/", .port("8a")), ("http://h:+80/", .port("+80")),
        ("http://-a..b/", .host("-a..b")), ("http://1.2.3/", .host("1.2.3")),
        ("http://01.2.3.4/", .host("01.2.3.4")), ("http://256.1.1.1/", .host("256.1.1.1")),
        ("http://0x7f.1/", .host("0x7f.1")), ("http://127.0.0.0X1/", .host("127.0.0.0X1")),
        ("http://2130706433/", .host("2130706433")),
        ("http://[::1/", .host("[::1")), ("http://[1::2::3]/", .host("[1::2::3]")),
        ("http://[::g]/", .host("[::g]")), ("http://[:::]/", .host("[:::]")),
        ("http://[1:2:3:4:5:6:7:8:9]/", .host("[1:2:3:4:5:6:7:8:9]")),
        ("http://[fe80::1%25eth0]/", .host("[fe80::1%25eth0]")),
        ("http://h%41/", .host("h%41")),
        ("http://münchen.example/", .hostOutsideASCII("münchen.example")),
        ("http://a@b@c/", .host("c")), ("http://h/a b", .character(" ")),
        ("http://h\\@evil/", .character("\\")), ("http://h/\r\nX", .character("\r")),
        ("http://h/\u{0}", .character("\u{0}")), ("http://h/\u{85}", .character("\u{85}")),
        ("http://h/<x>", .character("<")), ("http://h/${X}", .character("{")),
        ("http://h/%zz", .percent), ("http://h/100%", .percent),
        ("file:a", .file("a file URL is absolute; write file:///folder/name")),
        ("file://host/a", .file("a file URL has no host; write file:///folder/name")),
        ("file:///a%00", .file("its path is none that a file can have")),
        ("file:///a%2fb", .file("its path is none that a file can have")),
        ("file:///a?b", .file("a file URL has no query; write %3F for a question mark")),
    ])
    func whatAnotherParserMightReadDifferentlyIsRefused(text: String, reason: SourceURLError.Reason)
    {
        let flaw = #expect(throws: SourceURLError.self) { try SourceURL(text) }
        #expect(flaw?.reason == reason)
        #expect(flaw?.description == "\(Quoted(url: text)): \(reason)")
    }

    @Test func aFlawNamesTheTextWithoutItsSecrets() {
        let flaw = #expect(throws: SourceURLError.self) {
            try SourceURL("https://user:pass@h/a b?token=1")
        }
        let text = flaw.map { "\($0)" } ?? ""
        #expect(text.contains("h/a b") && text.contains("write %20"), "\(text)")
        #expect(!text.contains("pass") && !text.contains("token"), "\(text)")
        #expect(!String(reflecting: flaw).contains("pass"))
    }

    @Test func userInformationIsKeptApartAndNeverPrinted() throws {
        let url = try SourceURL("https://user:pass@h/x?token=1")
        #expect(url.userInfo == "user:pass")
        #expect(url.host == "h")
        #expect(url.requestText == "https://h/x?token=1")
        #expect(url.description == "https://h/x")
    }

    @Test(arguments: [
        ("http://h/a/b.txt", "b.txt"), ("http://h/a%20b", "a b"), ("http://h/%C3%A9?q", "é"),
        ("http://h/", nil), ("http://h/a/", nil), ("http://h/a%2Fb", nil), ("http://h/%FF", nil),
        ("http://h/%00", nil), ("http://h/a%0Ab", nil), ("http://h/%C2%85", nil),
        ("http://h/%2E%2E%2F", nil),
    ])
    func theLastSegmentMayNameTheFile(text: String, name: String?) throws {
        #expect(try SourceURL(text).lastSegment == name)
    }

    @Test func pathsBecomeFileURLsAndBack() throws {
        let path = "/tmp/a b/50%/ü?#.txt"
        let url = try #require(SourceURL(file: path))
        #expect(url.path == "/tmp/a%20b/50%25/%C3%BC%3F%23.txt")
        #expect(url.filePath == path)
        let folder = try #require(SourceURL(folder: "/tmp/x"))
        #expect(try SourceURL("a.txt", relativeTo: folder).filePath == "/tmp/x/a.txt")
        #expect(SourceURL(folder: "relative") == nil)
    }
}
