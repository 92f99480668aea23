import Testing

@testable import MirrorKit

/// What is remembered of a list, and the references of its names.
@Suite struct ListFormatTests {
    @Test func baseGetsASlashAtItsEnd() throws {
        let hint = try ListHint(format: nil, base: try SourceURL("https://h.example/a"))
        #expect(hint.base?.requestText == "https://h.example/a/")
        let root = try ListHint(format: nil, base: try SourceURL("https://h.example"))
        #expect(root.base?.requestText == "https://h.example/")
    }

    @Test(arguments: [
        "https://me@h.example/a/", "https://me:pw@h.example/", "https://h.example/?k=1",
    ])
    func aBaseWithASecretIsRefused(_ text: String) throws {
        let error = try #require(throws: MirrorError.self) {
            try ListHint(format: nil, base: try SourceURL(text))
        }
        #expect(error.code == .usage)
        #expect(!error.message.contains("pw"))
    }

    @Test func rememberedHintIsReadAsItWasWritten() throws {
        let base = try SourceURL("https://h.example/a%20b/")
        for format in ListFormat.allCases {
            let hint = try ListHint(format: format, base: base)
            #expect(ListHint(lines: hint.lines.joined(separator: "\n")) == hint)
        }
        #expect(ListHint(lines: "") == ListHint())
        #expect(ListHint(lines: "from nonsense\nbase ::\nodd") == ListHint())
    }

    private static let names = [
        ("a/b c.txt", "./a/b%20c.txt"), ("https://evil.example/x", "./https://evil.example/x"),
        ("//evil.example/x", ".///evil.example/x"), ("a?b#c%41", "./a%3Fb%23c%2541"),
        ("é", "./%C3%A9"), ("a:b", "./a:b"),
    ]

    /// A name is never a URL of its own, whatever it looks like.
    @Test(arguments: names) func nameBecomesAReferenceBeneathTheBase(
        name: String, reference: String
    ) throws {
        #expect(SourceURL.reference(toName: name) == reference)
        let url = try SourceURL(reference, relativeTo: try SourceURL("https://h.example/files/"))
        #expect(url.host == "h.example")
        #expect(url.query == nil)
    }
}

/// Two descriptions of one file.
@Suite struct JoinedResourceTests {
    /// The one resource that two become; nil if they stay two.
    private func joined(_ one: Resource, _ two: Resource) -> Resource? {
        var files = JoinedResources()
        _ = files.add(one)
        return files.add(two) ? nil : files.resources.first
    }

    private func resource(
        _ url: String, sha256: UInt8? = nil, size: Int64? = nil, tags: [String] = []
    ) throws -> Resource {
        var resource = Resource(target: try Target("Caches/a"), url: try SourceURL(url))
        if let sha256, let digest = Digest(.sha256, bytes: [UInt8](repeating: sha256, count: 32)) {
            resource.digests = [digest]
        }
        (resource.size, resource.tags) = (size, tags)
        return resource
    }

    @Test func equalURLsAreMerged() throws {
        let one = try resource("https://h.example/a", sha256: 1, tags: ["dev", "x"])
        let two = try resource("https://h.example/a", size: 5, tags: ["dev"])
        let joined = try #require(self.joined(one, two))
        #expect(joined.size == 5)
        #expect(joined.digests.count == 1)
        #expect(joined.tags == ["dev"])
        #expect(joined.mirrors.isEmpty)
    }

    @Test func equalDigestsElsewhereMakeAMirror() throws {
        let one = try resource("https://h.example/a", sha256: 1)
        let two = try resource("https://i.example/a", sha256: 1)
        #expect(try #require(joined(one, two)).mirrors.map(\.url.host) == ["i.example"])
    }

    @Test func whatMayBeOtherBytesIsNotJoined() throws {
        let one = try resource("https://h.example/a", sha256: 1, size: 5)
        #expect(joined(one, try resource("https://h.example/a", sha256: 2)) == nil)
        #expect(joined(one, try resource("https://h.example/a", size: 6)) == nil)
        #expect(joined(one, try resource("https://i.example/a")) == nil)
    }
}
