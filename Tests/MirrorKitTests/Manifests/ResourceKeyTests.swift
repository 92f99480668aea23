@testable import MirrorKit
import Testing

/// Every key of a resource is read, kept, written and documented.
@Suite struct ResourceKeyTests {
    private static let hex = String(repeating: "ab", count: 64)

    /// For each key a value that a reader does not assume, and one that is refused.
    private static let samples: [ResourceKey: (good: String, bad: String)] = [
        .path: (#""Documents/other.bin""#, #""data/x""#),
        .url: (#""https://h.example/b""#, #""ftp://h.example/a""#),
        .mirrors: (
            #"["https://eu.example/a", {"url": "https://h/a", "headers": {"A": "1"}}]"#, "7"
        ),
        .size: ("12", #""12""#),
        .sha512: ("\"\(hex)\"", #""ab""#),
        .sha256: ("\"\(hex.prefix(64))\"", #""ab""#),
        .sha1: ("\"\(hex.prefix(40))\"", #""ab""#),
        .md5: ("\"\(hex.prefix(32))\"", #""ab""#),
        .integrity: (
            #""sha384-"# + String(repeating: "q", count: 64) + #"""#, #""sha384-ab""#
        ),
        .pieces: (#"{"length": 8, "sha256": ["\#(hex.prefix(64))"]}"#, "[]"),
        .type: (#""text/plain""#, #""text""#), .refresh: (#""6h""#, #""hourly""#),
        .method: (#""POST""#, #""PUT""#), .body: (#""a=$$5""#, #""${""#),
        .headers: (#"{"Accept": "*/*"}"#, #"{"Range": "x"}"#), .priority: ("-3", "0.5"),
        .executable: ("true", "1"), .optional: ("true", "1"), .urgent: ("true", "1"),
        .tags: (#"["a", "b"]"#, #""a""#),
    ]

    private func read(_ bytes: [UInt8]) throws -> Manifest {
        try ManifestReader.read(bytes, label: "m", origin: .file(path: "/l/m.json")).manifest
    }

    /// A manifest of one resource with a value for a key.
    private func text(_ key: ResourceKey, _ value: String) -> [UInt8] {
        var members: [ResourceKey: String] = [
            .path: #""Caches/a""#, .url: #""https://h.example/a""#,
        ]
        if key == .method { members[.body] = #""b""# }
        if key == .body { members[.method] = #""POST""# }
        members[key] = value
        let list = members.map { "\"\($0.key.rawValue)\": \($0.value)" }.joined(separator: ", ")
        return Array(#"{"name": "n", "resources": [{\#(list)}]}"#.utf8)
    }

    @Test(arguments: ResourceKey.allCases)
    func keyIsReadKeptAndWritten(key: ResourceKey) throws {
        let sample = try #require(Self.samples[key])
        let manifest = try read(text(key, sample.good))
        var kept = manifest.resources[0]
        (kept.line, kept.column) = (0, 0)
        #expect(
            kept != Resource(target: kept.target, url: kept.primary.url) || key == .path
                || key == .url)
        for notation in [DecodedManifest.Notation.json, .xml] {
            var bytes: [UInt8] = []
            try ManifestWriter(notation, label: "m").write(manifest) { bytes += $0 }
            var again = try read(bytes).resources[0]
            (again.line, again.column) = (0, 0)
            #expect(again == kept)
        }
        #expect(throws: ManifestError.self) { try read(text(key, sample.bad)) }
    }

    @Test func keysAreDocumented() throws {
        let page = try CaseFiles.text(CaseFiles.project + "/docs/manifests.md")
        let schema = try CaseFiles.text(CaseFiles.project + "/docs/manifest.schema.json")
        let grammar = try CaseFiles.text(CaseFiles.project + "/docs/manifest.rng")
        for key in ResourceKey.allCases {
            #expect(page.contains("`\(key.rawValue)`"), "\(key)")
            #expect(schema.contains("\"\(key.rawValue)\":"), "\(key)")
            let isElement = [ResourceKey.mirrors, .headers, .pieces, .body].contains(key)
            #expect(isElement || grammar.contains("name=\"\(key.rawValue)\""), "\(key)")
        }
    }

    @Test(
        arguments: [
            ("hash", 64, "sha256"), ("sha", 128, "sha512"), ("checksum", 40, "sha1"),
            ("Digest", 32, "md5"), ("hash", 7, "sha256"),
        ])
    func digestAlgorithmIsGuessedFromItsLength(name: String, length: Int, key: String) {
        let value = String(repeating: "a", count: length)
        #expect(ResourceKey.meant(by: name, value) == key)
    }

    @Test(
        arguments: [
            ("hash", "sha512-abc=", "integrity"), ("checksum", "sha512:00", "sha512"),
            ("dest", nil, "path"), ("filename", "a", "path"), ("output", nil, "path"),
            ("href", nil, "url"), ("bytes", nil, "size"), ("colour", nil, nil),
            ("sha265", nil, nil),
        ] as [(String, String?, String?)])
    func keysOfOtherToolsGetAHint(name: String, value: String?, key: String?) {
        #expect(ResourceKey.meant(by: name, value) == key)
    }
}
