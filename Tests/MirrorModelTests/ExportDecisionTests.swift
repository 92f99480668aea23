@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Which files go into an export, under which names, and why others do not.
@Suite struct ExportDecisionTests {
    static let sha256 = Digest(.sha256, bytes: [UInt8](repeating: 7, count: 32))
    static let sha1 = Digest(.sha1, bytes: [UInt8](repeating: 7, count: 20))
    static let sha512 = Digest(.sha512, bytes: [UInt8](repeating: 7, count: 64))

    private func resource(
        _ path: String, _ url: String = "https://a.example/d/f%20g.tgz",
        _ change: (inout Resource) throws -> Void = { _ in }
    ) throws -> Resource {
        var resource = Resource(target: try Target(path), url: try SourceURL(url))
        try change(&resource)
        return resource
    }

    @Test func exportedSourcesHaveNoSecretsOrPaths() throws {
        let resource = try resource("Caches/a", "https://bob:hunter2@a.example/a?x=1") {
            $0.mirrors = [
                Source(url: try SourceURL("https://eve:secret@b.example/a")),
                Source(url: try SourceURL("file:///home/bob/a")),
                Source(
                    url: try SourceURL("https://c.example/a"),
                    headers: [try HeaderField(name: "X", value: Template(literal: "y"))]),
            ]
        }
        let urls = resource.withoutSecretsOfSources.sources.map(\.url.textWithSecrets)
        #expect(urls == ["https://a.example/a?x=1", "https://b.example/a"])
    }

    @Test func presentFilesHaveTheReadersNames() throws {
        let rows: [(ExportFormat, Resource, ExportDecision)] = [
            (
                .wheelhouse, try resource("Caches/python/a-1-py3-none-any.whl"),
                .take(name: "a-1-py3-none-any.whl")
            ),
            (.wheelhouse, try resource("Caches/python/a-1.tar.gz"), .pass),
            (
                .wheelhouse, try resource("Caches/python/a-1.tar.gz") { $0.tags = ["sdist"] },
                .take(name: "a-1.tar.gz")
            ),
            (.npmCache, try resource("Caches/npm/a-1"), .take(name: "Caches/npm/a-1")),
            (.npmCache, try resource("Documents/a.tgz"), .take(name: "Documents/a.tgz")),
            (.npmCache, try resource("Documents/a.zip"), .pass),
            (.bazelDistdir, try resource("Caches/x"), .take(name: "f%20g.tgz")),
            (.bazelDistdir, try resource("Caches/x", "https://a.example/"), .omit(.noName)),
            (.bagit, try resource("Documents/a/b"), .take(name: "data/Documents/a/b")),
        ]
        for (format, resource, verdict) in rows {
            #expect(format.decision(on: resource, isThere: true) == verdict)
            let isTaken = if case .pass = verdict { false } else { true }
            #expect(
                format.decision(on: resource, isThere: false)
                    == (isTaken ? .omit(.notThere) : .pass))
        }
    }

    @Test func npmFindsNoPackageBySHA1() throws {
        let digests = [Self.sha256, Self.sha1].compactMap(\.self)
        let old = try resource("Caches/npm/a.tgz") { $0.digests = digests }
        #expect(ExportFormat.npmCache.decision(on: old, isThere: true) == .omit(.weakIntegrity))
        let both = try resource("Caches/npm/a.tgz") {
            $0.digests = [Self.sha512, Self.sha1].compactMap(\.self)
        }
        #expect(
            ExportFormat.npmCache.decision(on: both, isThere: true)
                == .take(name: "Caches/npm/a.tgz"))
    }

    @Test func listsLeaveOutWhatTheyCannotSay() throws {
        let plain = try resource("Caches/a")
        let post = try resource("Caches/a") { $0.method = .post(body: Template(literal: "x")) }
        let local = try resource("Caches/a", "file:///a")
        let header = try resource("Caches/a") {
            $0.primary.headers = [try HeaderField(name: "A", value: Template(literal: "b"))]
        }
        let secret = try resource("Caches/a") {
            $0.primary.headers = [
                try HeaderField(name: "A", value: Template(pieces: [.variable("TOKEN")]))
            ]
        }
        let space = try resource("Caches/a ")
        let rows: [(ExportFormat, Resource, ExportDecision)] = [
            (.aria2, plain, .take(name: "Caches/a")), (.metalink, plain, .take(name: "Caches/a")),
            (.aria2, post, .omit(.post)), (.metalink, post, .omit(.post)),
            (.aria2, local, .omit(.localSource)), (.metalink, local, .omit(.localSource)),
            (.aria2, header, .take(name: "Caches/a")), (.metalink, header, .omit(.headers)),
            (.aria2, secret, .omit(.secret)), (.metalink, secret, .omit(.secret)),
            (.aria2, space, .omit(.name)), (.metalink, space, .take(name: "Caches/a ")),
            (.sums, plain, .omit(.noDigest)),
        ]
        for (format, resource, verdict) in rows {
            #expect(format.decision(on: resource, isThere: false) == verdict)
        }
        let known = try resource("Caches/a") { $0.digests = [Self.sha256].compactMap(\.self) }
        #expect(ExportFormat.sums.decision(on: known, isThere: false) == .take(name: "Caches/a"))
    }

    @Test func aRecordDescribesTheWantedVersionOnly() throws {
        let sha256 = try #require(Self.sha256)
        let record = IndexRecord(
            target: try Target("Caches/a"), owner: "m",
            stamp: FileStamp(size: 5, modified: 0, changed: 0, inode: 1), sha256: sha256,
            verified: .size, promotedAt: Instant(milliseconds: 0))
        let plain = try resource("Caches/a")
        let described = try #require(plain.described(by: record, isOfSource: true))
        #expect(described.size == 5)
        #expect(described.digests == [sha256])
        #expect(plain.described(by: record, isOfSource: false) == nil)
        var other = plain
        other.size = 6
        #expect(other.described(by: record, isOfSource: true) == nil)
        var pinned = plain
        pinned.digests = [Self.sha512].compactMap(\.self)
        #expect(pinned.described(by: record, isOfSource: true) == nil)
        pinned.digests = [sha256]
        #expect(pinned.described(by: record, isOfSource: false)?.digests == [sha256])
    }

    @Test func shellWordsAreQuoted() {
        #expect("/a/b-1.tgz".quotedForShell == "/a/b-1.tgz")
        #expect("it's $HOME".quotedForShell == "'it'\\''s $HOME'")
        #expect("".quotedForShell == "''")
    }
}
