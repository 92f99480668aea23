@testable import MirrorKit
import MirrorTestSupport
import Testing

/// The tree of a Debian archive's Release file: apt finds in it what it looks for.
@Suite struct ReleaseListTests {
    private static let digits = String(repeating: "ab", count: 32)

    private static func text(byHash: String = "yes") -> [UInt8] {
        Array(
            """
            -----BEGIN PGP SIGNED MESSAGE-----

            Suite: stable
            Acquire-By-Hash: \(byHash)
            SHA256:
             \(digits) 10 main/binary-amd64/Packages.xz
            -----BEGIN PGP SIGNATURE-----

            """.utf8)
    }

    private func resources(
        _ text: [UInt8], at list: String, base: String? = nil
    ) throws -> [Resource] {
        let hint = try ListHint(format: nil, base: try base.map { try SourceURL($0) })
        let decoded = try ManifestReader.read(
            text, label: "l", origin: .url(try SourceURL(list)), hint: hint)
        return Array(decoded.manifest.resources)
    }

    private static let places = [
        (
            "https://h.example/debian/dists/sid/InRelease", "Caches/dists/sid/",
            "https://h.example/debian/dists/sid/"
        ),
        (
            "https://h.example/dists/a%20b/updates/InRelease", "Caches/dists/a b/updates/",
            "https://h.example/dists/a%20b/updates/"
        ),
        ("https://h.example/flat/InRelease", "Caches/", "https://h.example/flat/"),
    ]

    @Test(arguments: places)
    func filesLieAsInTheArchive(list: String, folder: String, base: String) throws {
        let resources = try resources(Self.text(), at: list)
        #expect(
            resources.map(\.target.path) == [
                folder + "InRelease", folder + "main/binary-amd64/Packages.xz",
            ])
        #expect(
            resources.map(\.primary.url.requestText) == [
                base + "InRelease", base + "main/binary-amd64/Packages.xz",
            ])
    }

    @Test func aListIsPinnedToItsBytes() throws {
        let text = Self.text()
        let list = try #require(
            try resources(text, at: "https://h.example/dists/sid/InRelease").first)
        #expect(list.size == Int64(text.count))
        #expect(list.digests.map(\.hex) == [Checksum.sha256(text)])
    }

    @Test(arguments: [("yes", 1), ("no", 0)])
    func aReplacedIndexIsFoundByDigest(byHash: String, mirrors: Int) throws {
        let index = try #require(
            try resources(
                Self.text(byHash: byHash), at: "https://h.example/dists/sid/InRelease"
            ).last)
        let place = "https://h.example/dists/sid/main/binary-amd64/by-hash/SHA256/" + Self.digits
        #expect(index.mirrors.map(\.url.requestText) == [String](repeating: place, count: mirrors))
    }

    @Test func indexOutsideOfTheArchiveIsLeftOut() throws {
        let text = Array(
            String(decoding: Self.text(), as: UTF8.self).split(separator: "main/")
                .joined(separator: "../").utf8)
        let list = try SourceURL("https://h.example/dists/sid/InRelease")
        let decoded = try ManifestReader.read(text, label: "l", origin: .url(list))
        #expect(decoded.manifest.resources.map(\.target.name) == ["InRelease"])
        #expect(decoded.leftOut.map(\.reason).allSatisfy { $0.contains("component \"..\"") })
        #expect(decoded.leftOut.count == 1)
    }
}
