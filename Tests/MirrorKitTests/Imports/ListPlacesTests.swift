@testable import MirrorKit
import Testing

/// Where the files of a list are that came by URL, and how the list is called.
@Suite struct ListPlacesTests {
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
    func namesAreRelativeToTheFormatsPlace(
        format: ListFormat, list: String, base: String?
    ) throws {
        #expect(format.kind.base(try SourceURL(list))?.requestText == base)
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
    func aDebianListIsNamedAfterItsFolders(
        format: ListFormat, list: String, name: String?
    ) throws {
        #expect(format.kind.name(try SourceURL(list)) == name)
    }

    /// Many folders are called alike.
    @Test func aListingIsNamedAfterHostAndFolders() throws {
        let names = try [
            "https://h.example/1/files/", "https://h.example/2/files/", "https://h.example/",
        ]
        .map { ListKind.index.name(try SourceURL($0)) }
        #expect(names == ["h.example-1-files", "h.example-2-files", "h.example"])
    }
}
