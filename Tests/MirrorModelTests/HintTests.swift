@testable import MirrorKit
import Testing

/// What a manifest's author was likely to mean.
@Suite struct HintTests {
    @Test(
        arguments: [
            ("www.example.com/x", "www.example.com"), ("WWW.Example.com/", "WWW.Example.com"),
            ("example.org/a/b", "example.org"), ("localhost:8080/x", "localhost:8080"),
            ("example.x:80", "example.x:80"), ("world.pmtiles", nil), ("v1.2/file.bin", nil),
            ("./www.example.com/x", nil), ("https://www.example.com/x", nil), ("/www.a.com/x", nil),
            ("a:b/c", nil), ("file:///x", nil), ("", nil), ("www.tgz", nil), ("data.io", nil),
            ("user:secret@www.example.com/x", nil),
        ] as [(String, String?)])
    func aBareHostGetsASchemeHint(text: String, host: String?) {
        #expect(BareHost.find(in: text) == host)
    }

    @Test func aServerNamedFileHasATemporaryName() throws {
        let one = try SourceURL("https://h.example/?id=1")
        let two = try SourceURL("https://h.example/?id=2")
        let name = one.provisionalName
        #expect(name != two.provisionalName)
        #expect(name == one.provisionalName)
        let target = try Target("Caches/f/" + name)
        #expect(target.isProvisional(for: one))
        #expect(!target.isProvisional(for: two))
        let named = try Target("Caches/f/a")
        #expect(!named.isProvisional(for: try SourceURL("https://h/a")))
    }
}
