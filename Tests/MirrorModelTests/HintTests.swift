import MirrorModel
import Testing

/// What a manifest's author was likely to mean.
@Suite struct HintTests {
    @Test(
        arguments: [
            ("hash", 64, "sha256"), ("sha", 128, "sha512"), ("checksum", 40, "sha1"),
            ("Digest", 32, "md5"), ("hash", 7, "sha256"),
        ])
    func digestAlgorithmIsGuessedFromItsLength(name: String, length: Int, key: String) {
        let value = String(repeating: "a", count: length)
        #expect(MeantKey.key(for: name, value: value) == key)
    }

    @Test(
        arguments: [
            ("hash", "sha512-abc=", "integrity"), ("checksum", "sha512:00", "sha512"),
            ("dest", nil, "path"), ("filename", "a", "path"), ("output", nil, "path"),
            ("href", nil, "url"), ("bytes", nil, "size"), ("colour", nil, nil),
            ("sha265", nil, nil),
        ] as [(String, String?, String?)])
    func keysOfOtherToolsGetAHint(name: String, value: String?, key: String?) {
        #expect(MeantKey.key(for: name, value: value) == key)
    }

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
        let name = ProvisionalName.make(for: one)
        #expect(name != ProvisionalName.make(for: two))
        #expect(name == ProvisionalName.make(for: one))
        #expect(ProvisionalName.isOf(try Target("Caches/f/" + name), one))
        #expect(!ProvisionalName.isOf(try Target("Caches/f/" + name), two))
        #expect(!ProvisionalName.isOf(try Target("Caches/f/a"), try SourceURL("https://h/a")))
    }
}
