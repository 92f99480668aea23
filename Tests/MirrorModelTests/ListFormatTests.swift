import Testing

@testable import MirrorModel

/// Where the files of a list are that came by URL, and what is remembered of a list.
@Suite struct ListFormatTests {
    private static let bases: [(ListFormat, String, String?)] = [
        (.sums, "https://h.example/release/SHA256SUMS", "https://h.example/release/"),
        (.sums, "https://h.example/release/SHA256SUMS?token=1", "https://h.example/release/"),
        (
            .debianRelease, "https://h.example/debian/dists/sid/InRelease",
            "https://h.example/debian/dists/sid/"
        ),
        (
            .debianPackages, "https://h.example/debian/dists/sid/main/binary-amd64/Packages.xz",
            "https://h.example/debian/"
        ),
        (.debianPackages, "https://h.example/dists/sid/main/Packages", "https://h.example/"),
        (.debianPackages, "https://h.example/flat/Packages.gz", "https://h.example/flat/"),
        (
            .repomd, "https://h.example/fedora/os/repodata/repomd.xml",
            "https://h.example/fedora/os/"
        ),
        (.rpmPrimary, "https://h.example/repodata/ab-primary.xml.gz", "https://h.example/"),
        (.repomd, "https://h.example/elsewhere/repomd.xml", "https://h.example/elsewhere/"),
        (.s3, "https://b.s3.example/?list-type=2&prefix=v1/", "https://b.s3.example/"),
        (.s3, "https://s3.example/bucket?list-type=2", "https://s3.example/bucket/"),
        (.s3, "https://s3.example//bucket", "https://s3.example//bucket/"),
        (
            .huggingFace, "https://hf.example/api/models/org/name/tree/main",
            "https://hf.example/org/name/resolve/main/"
        ),
        (
            .huggingFace, "https://hf.example/api/datasets/org/name/tree/v1/sub?recursive=1",
            "https://hf.example/datasets/org/name/resolve/v1/"
        ),
        (.huggingFace, "https://hf.example/tree.json", nil),
    ]

    @Test(arguments: bases)
    func namesOfAListAreRelativeToWhereItsFormatSays(
        format: ListFormat, list: String, base: String?
    ) throws {
        #expect(format.base(ofListAt: try SourceURL(list))?.requestText == base)
    }

    private static let listNames: [(ListFormat, String, String?)] = [
        (.debianRelease, "https://h.example/debian/dists/sid/InRelease", "sid"),
        (.debianRelease, "https://h.example/dists/bookworm/updates/Release", "bookworm-updates"),
        (
            .debianPackages, "https://h.example/debian/dists/sid/main/binary-amd64/Packages.xz",
            "sid-main-binary-amd64"
        ),
        (.debianRelease, "https://h.example/dists/InRelease", nil),
        (.debianPackages, "https://h.example/flat/Packages.gz", nil),
        (.sums, "https://h.example/dists/sid/SHA256SUMS", nil),
    ]

    /// Two suites of one archive are two manifests, though both lists are called InRelease.
    @Test(arguments: listNames)
    func listOfADebianArchiveIsNamedAfterItsFolders(
        format: ListFormat, list: String, name: String?
    ) throws {
        #expect(format.name(ofListAt: try SourceURL(list)) == name)
    }

    @Test func baseGetsASlashAtItsEnd() throws {
        let hint = try ListHint(format: nil, base: try SourceURL("https://h.example/a"))
        #expect(hint.base?.requestText == "https://h.example/a/")
        let root = try ListHint(format: nil, base: try SourceURL("https://h.example"))
        #expect(root.base?.requestText == "https://h.example/")
    }

    @Test(arguments: [
        "https://me@h.example/a/", "https://me:pw@h.example/", "https://h.example/?k=1",
    ])
    func baseWithASecretIsRefusedBecauseItIsRemembered(_ text: String) throws {
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
            #expect(ListHint(text: hint.text) == hint)
        }
        #expect(ListHint(text: "") == ListHint())
        #expect(ListHint(text: "from nonsense\nbase ::\nodd") == ListHint())
    }

    private static let names = [
        ("a/b c.txt", "./a/b%20c.txt"), ("https://evil.example/x", "./https://evil.example/x"),
        ("//evil.example/x", ".///evil.example/x"), ("a?b#c%41", "./a%3Fb%23c%2541"),
        ("é", "./%C3%A9"), ("a:b", "./a:b"),
    ]

    /// Many folders are called alike.
    @Test func aListingIsNamedAfterItsHostAndFolders() throws {
        let names = try [
            "https://h.example/1/files/", "https://h.example/2/files/", "https://h.example/",
        ]
        .map { ListFormat.index.name(ofListAt: try SourceURL($0)) }
        #expect(names == ["h.example-1-files", "h.example-2-files", "h.example"])
    }

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

    @Test func sameURLIsOneFileAndKeepsWhatEitherSays() throws {
        let one = try resource("https://h.example/a", sha256: 1, tags: ["dev", "x"])
        let two = try resource("https://h.example/a", size: 5, tags: ["dev"])
        let joined = try #require(self.joined(one, two))
        #expect(joined.size == 5)
        #expect(joined.digests.count == 1)
        #expect(joined.tags == ["dev"])
        #expect(joined.mirrors.isEmpty)
    }

    @Test func sameDigestAtAnotherURLMakesAMirror() throws {
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
