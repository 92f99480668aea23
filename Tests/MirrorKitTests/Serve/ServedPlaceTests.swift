@testable import MirrorKit
import Testing

/// What the path of a request names, in every way of writing it.
@Suite struct ServedPlaceTests {
    @Test(
        arguments: [
            ("/", ""), ("/Documents/", "Documents"), ("/Caches/a/b/", "Caches/a/b"),
            ("http://127.0.0.1:8080/tmp/x/", "tmp/x"), ("http://127.0.0.1:8080", ""),
            ("/Documents/%C3%A4/", "Documents/ä"),
        ])
    func aSlashAtTheEndIsAFolder(_ path: String, _ folder: String) {
        #expect(ServedPlace(path: path) == .folder(folder))
    }

    @Test(
        arguments: [
            ("/Documents/a.bin", "Documents/a.bin"), ("/Documents/a%20b%25", "Documents/a b%"),
            ("/%44ocuments/a", "Documents/a"), ("/Caches/%3Fq%23", "Caches/?q#"),
            ("/Documents/a\\b", "Documents/a\\b"), ("/Documents/...", "Documents/..."),
            ("HTTP://other.example/tmp/a", "tmp/a"), ("/tmp/a/b.part", "tmp/a/b.part"),
        ])
    func aNameIsDecodedOnce(_ path: String, _ target: String) throws {
        #expect(ServedPlace(path: path) == .file(try Target(target)))
    }

    /// No way up, out, into `.mirror`, or to a part, however it is written.
    @Test(
        arguments: [
            "/..", "/../etc/passwd", "/Documents/../../etc/passwd", "/Documents/../.mirror/lock",
            "/Documents/%2e%2e/%2e%2e/etc/passwd", "/Documents/.%2e/x", "/Documents/%2E/x",
            "/Documents/..%2f..%2fetc%2fpasswd", "/Documents%2f..%2f..%2fetc", "/Documents%2Fa",
            "/.mirror/index.sqlite", "/%2emirror/lock", "/Documents//a", "//Documents/a", "//",
            "/Documents/a%00.txt", "/Documents/%0d%0aSet-Cookie:x", "/Documents/%7f",
            "/Documents/%ff%fe", "/Documents/%C0%AE%C0%AE/x", "/Documents/%E0%80%AE/x",
            "/tmp/x.0123.part", "/tmp/x.0123.par%74", "/etc/passwd", "/documents/a", "/cas/",
            "/cas", "/cas/abc", "/Documents/%252e%252e/../x",
        ])
    func whatLeadsElsewhereIsNothing(_ path: String) {
        #expect(ServedPlace(path: path) == .nothing)
    }

    @Test func aTwiceEncodedNameIsTakenLiterally() throws {
        #expect(
            ServedPlace(path: "/Documents/%252e%252e/x")
                == .file(try Target("Documents/%2e%2e/x")))
    }

    @Test(
        arguments: [
            "", "*", "Documents/a", "/Documents/%", "/Documents/%2", "/Documents/%zz",
            "/Documents/a b", "/Documents/\u{1}", "ftp://h/x",
        ])
    func whatIsNoPathIsMalformed(_ path: String) {
        #expect(ServedPlace(path: path) == .malformed)
    }

    @Test func digestsAreTakenInEitherCase() throws {
        let hex = String(repeating: "aB", count: 32)
        let digest = try #require(Digest(.sha256, hex: hex))
        #expect(ServedPlace(path: "/cas/\(hex)") == .digest(digest))
        #expect(ServedPlace(path: "/cas/\(hex)/") == .nothing)
        #expect(ServedPlace(path: "/cas/\(hex)0") == .nothing)
        #expect(ServedPlace(path: "/Documents") == .area(.documents))
    }
}
