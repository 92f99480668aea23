@testable import MirrorKit
import Testing

/// What `check --fix` writes: what is certain, and nothing else.
@Suite struct ManifestCorrectionTests {
    private func corrected(_ text: String) throws -> String {
        let correction = try ManifestCorrection(
            of: Array(text.utf8), label: "m", origin: .file(path: "/m"))
        return String(decoding: correction.text, as: UTF8.self)
    }

    private static let url = #""url": "https://h.example/a""#
    private static let hex = String(repeating: "0a", count: 32)

    /// A resource's members, or a whole text, before and after.
    @Test(arguments: [
        (#""size": "12""#, #""size": 12"#), (#""optional":"true""#, #""optional":true"#),
        (#""optional": True"#, #""optional": true"#), (#""priority": "-3""#, #""priority": -3"#),
        (#""sha256": "sha256:\#(hex)""#, #""sha256": "\#(hex)""#),
        (#""sha256": "SHA256=\#(hex)""#, #""sha256": "\#(hex)""#),
        (#""refresh": "Always""#, #""refresh": "always""#),
        (#""tags": "large""#, #""tags": ["large"]"#),
        (#""mirrors": "https://m.example/a""#, #""mirrors": ["https://m.example/a"]"#),
        (#""type": "text/html; charset=utf-8""#, #""type": "text/html""#),
        (#""SHA256": "\#(hex)""#, #""sha256": "\#(hex)""#),
        (#""path": "caches/a//./b""#, #""path": "Caches/a/b""#),
        (#""body": "x", "method": "post""#, #""body": "x", "method": "POST""#),
        (#"size: 1"#, #""size": 1"#), (#"'size': 1"#, #""size": 1"#),
        (#""path": 'Caches/a'"#, #""path": "Caches/a""#),
        ("\"x-note\": \"a\tb\"", #""x-note": "a\tb""#), (#""size": 1,  "#, #""size": 1  "#),
        ("\"size\": 1\n  \"priority\": 2", "\"size\": 1,\n  \"priority\": 2"),
    ])
    func certainSlipIsCorrected(before: String, after: String) throws {
        let text = { (members: String) in "{ \"resources\": [\n  { \(Self.url), \(members) }\n] }\n"
        }
        #expect(try corrected(text(before)) == text(after))
    }

    @Test(arguments: [
        (
            #"<resource url="https://h.example/a" optional="True"/>"#,
            #"<resource url="https://h.example/a" optional="true"/>"#
        ),
        (
            #"<resource url='https://h.example/a b'/>"#,
            #"<resource url='https://h.example/a%20b'/>"#
        ),
        (
            #"<resource url="https://h.example/a" sha256="sha256:\#(hex)"/>"#,
            #"<resource url="https://h.example/a" sha256="\#(hex)"/>"#
        ),
        (
            #"<resource path="documents/e/a" url="https://h.example/a"/>"#,
            #"<resource path="Documents/e/a" url="https://h.example/a"/>"#
        ),
    ])
    func certainSlipInXMLIsCorrected(before: String, after: String) throws {
        let text = { (body: String) in "<manifest>\n\t\(body)\n</manifest>" }
        #expect(try corrected(text(before)) == text(after))
    }

    /// What is merely likely, what would lose something, and what may hide a secret.
    @Test(arguments: [
        #""sha265": "\#(hex)""#, #""path": "data/x""#, #""path": "Caches/../x""#,
        #""refresh": 90"#, #""refresh": "90""#, #""size": "12 KiB""#, #""size": "\u0031""#,
        #""tags": "a b""#, #""method": "PUT""#, #""size": 1 // note"#, #""size": 1, "size": 2"#,
        #""headers": { "X-A": 1 }"#, #""headers": { "X-A": "a $ b" }"#, #""sha256": "sha256:abc""#,
        #""mirrors": "https://m.example/a?token=x""#, #""path": "Caches/a\q""#,
        "\"path\": \"Caches/a\nb\"",
        #""path": 'it's'"#,
    ])
    func whatIsNotCertainStays(members: String) throws {
        let text = "{ \"resources\": [ { \(Self.url), \(members) } ] }"
        #expect(try corrected(text) == text)
    }

    @Test func hundredsOfSlipsAreCorrectedAndNothingElse() throws {
        let entry = { (number: Int, size: String) in
            "\t{\"path\" :\"Caches/\(number)\",\r\n\t \"url\": \"https://h.example/\(number)\", \"size\":\(size)}"
        }
        let text = { (size: (Int) -> String) in
            "\u{FEFF}{ \"resources\": [\n"
                + (0..<500).map { entry($0, size($0)) }.joined(separator: ",\n")
                + "\n] }\n\n"
        }
        let sound = text { "\($0)" }
        #expect(try corrected(text { "\"\($0)\"" }) == sound)
        #expect(try corrected(sound) == sound)
    }

    /// Plain entries are taken over as bytes, so that nothing of them is a token.
    @Test func commaBetweenEntriesStandsBehindTheFirst() throws {
        let entry = { (name: String) in
            "{ \"path\": \"Caches/\(name)\", \"url\": \"https://h.example/\(name)\" }"
        }
        let text = { (comma: String) in
            "{ \"resources\": [\n  \(entry("a")),\n  \(entry("b"))\(comma)\n  \(entry("c"))\n] }"
        }
        #expect(try corrected(text("")) == text(","))
    }

    /// A key without quotes ends the reading, so that each round finds one.
    @Test func fatalSlipsAreCorrectedOneByOne() throws {
        #expect(
            try corrected(
                "{ name: 'm', resources: [{ url: 'https://h.example/a', optional: True, }] }")
                == #"{ "name": "m", "resources": [{ "url": "https://h.example/a", "optional": true }] }"#
        )
    }

    @Test(arguments: CaseFiles.manifests(in: "bad"))
    func correctedBadManifestHasNothingMoreToCorrect(name: String) throws {
        let bytes = try CaseFiles.bytes(CaseFiles.cases + name)
        let origin = ManifestOrigin.file(path: "/lists/" + name)
        let once = try ManifestCorrection(of: bytes, label: name, origin: origin)
        #expect((once.text == bytes) == once.replacements.isEmpty)
        let twice = try ManifestCorrection(of: once.text, label: name, origin: origin)
        #expect(twice.replacements.isEmpty)
    }
}
