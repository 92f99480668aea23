@testable import MirrorKit
import Testing

@Suite struct ManifestFlawTests {
    private func manifest(_ paths: [String]) throws -> Manifest {
        Manifest(
            name: "test",
            resources: try paths.enumerated().map { number, path in
                Resource(target: try Target(path), url: try SourceURL("https://h/\(number)"))
            })
    }

    @Test func differentTargetsAreOneTree() throws {
        let manifest = try manifest([
            "Caches/b", "Caches/a/b", "Caches/a/c", "Documents/b", "Caches/a-b",
        ])
        #expect(manifest.flaws().isEmpty)
    }

    @Test func equalTargetsAreFound() throws {
        let flaws = try manifest(["Caches/b", "Caches/a", "Caches/b", "Caches/b"]).flaws()
        #expect(flaws == [.equalTargets(first: 0, second: 2), .equalTargets(first: 0, second: 3)])
    }

    @Test(arguments: [
        ("Caches/README", "Caches/ReadMe"), ("Caches/straße", "Caches/STRASSE"),
        ("Caches/\u{E9}", "Caches/e\u{301}"), ("Caches/\u{C9}", "Caches/e\u{301}"),
        ("Caches/\u{212A}", "Caches/k"), ("Caches/Σας", "Caches/σασ"), ("Caches/ﬁ", "Caches/FI"),
        ("Caches/\u{1E9E}", "Caches/ss"), ("Caches/\u{10400}", "Caches/\u{10428}"),
        ("Caches/a\u{37E}é", "Caches/a;É"), ("Caches/Ա", "Caches/ա"),
    ])
    func namesEqualButForCaseAreFound(first: String, second: String) throws {
        #expect(try manifest([first, second]).flaws() == [.targetsAlike(first: 0, second: 1)])
    }

    @Test(arguments: [
        ("Caches/ı", "Caches/i"), ("Caches/é", "Caches/e"), ("Caches/ae", "Caches/æ"),
    ])
    func namesThatDifferOtherwiseDoNotCollide(first: String, second: String) throws {
        #expect(try manifest([first, second]).flaws().isEmpty)
    }

    @Test func foldersAlikeAreReportedOnce() throws {
        let flaws = try manifest(["Caches/Foo/x/a", "Caches/foo/x/a", "Caches/foo/x/b"]).flaws()
        #expect(
            flaws == [
                .foldersAlike(
                    first: 0, second: 1, firstFolder: "Caches/Foo", secondFolder: "Caches/foo")
            ])
    }

    @Test func aTargetThatIsAFolderIsFound() throws {
        #expect(
            try manifest(["Caches/a/b/c", "Caches/a-b", "Caches/a"]).flaws()
                == [.targetIsFolder(target: 2, inside: 0)])
        #expect(
            try manifest(["Caches/A", "Caches/a/b"]).flaws()
                == [.targetIsFolder(target: 0, inside: 1)])
    }

    @Test func oneRequestGivesOneDigest() throws {
        let digests = (0..<2).compactMap { Digest(.sha256, bytes: Array(repeating: $0, count: 32)) }
        let url = try SourceURL("https://h/x?token=1")
        var first = Resource(target: try Target("Caches/a"), url: url)
        first.digests = [digests[0]]
        var second = Resource(target: try Target("Caches/b"), url: try SourceURL("https://h/y"))
        second.mirrors.append(Source(url: url))
        second.digests = [digests[1]]
        let manifest = Manifest(name: "test", resources: [first, second])
        #expect(
            manifest.flaws() == [.twoDigests(first: 0, second: 1, url: url, digests: digests)])
        #expect(!manifest.sentence(on: manifest.flaws()[0]).contains("token"))

        second.method = .post(body: Template(literal: "q"))
        #expect(Manifest(name: "test", resources: [first, second]).flaws().isEmpty)
    }

    @Test func manyTargetsAreToldApart() throws {
        // 8,000 targets, each in four folders; pairs would be 32 million comparisons.
        let paths = (0..<8_000).map { "Caches/\($0 % 7)/\($0 % 11)/É\($0 % 13)/\($0)" }
        #expect(try manifest(paths).flaws().isEmpty)
        #expect(try manifest(paths + ["Caches/0/0/é0/0"]).flaws().count == 1)
    }
}
