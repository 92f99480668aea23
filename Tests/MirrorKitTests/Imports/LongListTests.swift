@testable import MirrorKit
import Testing

/// A list may have longer values than a manifest; such an entry is left out, and the rest is written
/// as a manifest that mirror reads.
@Suite struct LongListTests {
    private static let long = String(repeating: "a", count: 3 << 20)
    private static let digits = String(repeating: "0", count: 64)

    private static let texts: [(ListFormat, String)] = [
        (.urls, "https://h.example/a\nhttps://h.example/\(long)\n"),
        (.sums, "\(digits)  a\n\(digits)  \(long)\n"),
        (.aria2, "https://h.example/a\n out=b\nhttps://h.example/c\n out=\(long)\n"),
        (.aria2, "https://h.example/a\n out=b\nhttps://h.example/c\n header=X-Long: \(long)\n"),
        (
            .npm,
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/a\": { \"version\": \"1.0.0\" },"
                + " \"node_modules/\(long)\": { \"version\": \"1.0.0\" } } }"
        ),
        (
            .npm,
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/a\": { \"version\": \"1.0.0\" },"
                + " \"node_modules/b\": { \"resolved\": \"https://h.example/\(long)\" } } }"
        ),
        (
            .yarn,
            "# yarn lockfile v1\na@1:\n  version \"1.0.0\"\n  resolved \"https://h.example/a.tgz\"\n"
                + "\(long)@1:\n  version \"1.0.0\"\n  resolved \"https://h.example/b.tgz\"\n"
        ),
    ]

    @Test(arguments: texts.indices) func entryWithALongValueIsLeftOut(_ index: Int) throws {
        let (format, text) = Self.texts[index]
        let decoded = try ManifestReader.read(
            Array(text.utf8), label: "l", origin: .file(path: "/l"),
            hint: try ListHint(format: nil, base: try SourceURL("https://h.example/")))
        #expect(decoded.list == format)
        #expect(decoded.manifest.resources.count == 1)
        #expect(decoded.leftOut.count == 1)
        #expect(decoded.leftOut.allSatisfy { $0.name.utf8.count <= 1024 && $0.reason.count < 400 })
        var written: [UInt8] = []
        try ManifestWriter(.json, label: "m").write(decoded.manifest) { written += $0 }
        let again = try ManifestReader.read(written, label: "m", origin: .file(path: "/m.json"))
        #expect(again.manifest.resources.count == 1)
    }

    private static let shapes: [(String, String)] = [
        ("sums", "\(digits)  a\n\(digits)  b\n"),
        (
            "npm",
            "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/a\": { \"version\": \"1.0.0\" } } }"
        ),
        (
            "yarn",
            "# yarn lockfile v1\n\na@1:\n  version \"1.0.0\"\n  resolved \"https://h.example/a.tgz\"\n"
        ),
        (
            "pnpm",
            "lockfileVersion: '9.0'\n\npackages:\n\n  a@1.0.0:\n    resolution: {integrity: x}\n"
        ),
        (
            "gemfile",
            "GEM\n  remote: https://g.example/\n  specs:\n    a (1.0)\n\nCHECKSUMS\n  a (1.0)\n"
        ),
        ("conda", "@EXPLICIT\nhttps://h.example/linux-64/a-1-0.conda#\(digits)\n"),
        (
            "poetry",
            "[[package]]\nname = \"a\"\nversion = \"1\"\nfiles = []\n[metadata]\ncontent-hash = \"x\"\n"
        ),
        ("pipfile", "{ \"_meta\": {}, \"default\": { \"a\": { \"version\": \"==1\" } } }"),
        (
            "composer",
            "{ \"packages\": [{ \"name\": \"a\", \"dist\": { \"url\": \"https://h.example/a\" } }], \"packages-dev\": [] }"
        ),
        (
            "signed",
            "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n\(digits)  a\n-----BEGIN PGP SIGNATURE-----\n"
        ),
        ("signify", "untrusted comment: x\nRWQ=\nSHA256 (a) = \(digits)\n"),
        ("session", "https://h.example/a\tftp://h.example/a\t\n gid=0\n dir=/x\n"),
        ("bag", "ark:/1/2 - data/a\nhttps://h.example/a 1 data/a\n"),
    ]

    /// Cut anywhere, with the line ends of another system, or with a byte order mark, a text is read
    /// or refused.
    @Test(arguments: shapes.indices) func textThatIsCutIsReadOrRefused(_ index: Int) throws {
        let text = Self.shapes[index].1
        let hint = try ListHint(
            format: nil, base: try SourceURL("https://h.example/"),
            index: try SourceURL("https://i.example/simple/"))
        let read = { (bytes: [UInt8]) throws -> DecodedManifest? in
            do {
                return try ManifestReader.read(
                    bytes, label: "l", origin: .file(path: "/l"), hint: hint)
            } catch is ManifestError { return nil }
        }
        let bytes = Array(text.utf8)
        for count in 0..<bytes.count { _ = try read(Array(bytes.prefix(count))) }
        let whole = try read(bytes)
        let others = [
            Array(
                text.split(separator: "\n", omittingEmptySubsequences: false)
                    .joined(separator: "\r\n").utf8), [0xEF, 0xBB, 0xBF] + bytes,
        ]
        for other in others {
            let again = try read(other)
            #expect(again?.list == whole?.list)
            #expect(again?.manifest.resources.count == whole?.manifest.resources.count)
            #expect(again?.leftOut.map(\.reason) == whole?.leftOut.map(\.reason))
        }
    }
}
