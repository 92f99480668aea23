import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Two plans that were made before either was carried out.
@Suite(.timeLimit(.minutes(15))) struct TwoPlansTests {
    private static func scenario(_ tag: String, _ body: String) -> String {
        """
          on GET /a
            reply
              HTTP/1.1 200 OK
              ETag: "\(tag)"
              Last-Modified: Thu, 01 Jan 1970 00:00:07 GMT
              @body \(body)
        """
    }

    private static let confirmation = """
          on GET /a
            reply
              HTTP/1.1 304 Not Modified
              ETag: "v1"
        """

    /// The second run asks about the version that its plan saw, and a server confirms it. The row of
    /// the version that the first run brought must not go back to what the plan has.
    @Test func theRowThatTheFirstRunWroteStays() async throws {
        let stage = try SessionStage(
            Self.scenario("v1", "v1") + "\n" + Self.scenario("v2", "v2") + "\n"
                + Self.confirmation)
        defer { stage.end() }
        var resource = try stage.resource("a")
        resource.refresh = .always
        let manifest = Manifest(name: "m", resources: [resource])
        try await stage.session.sync(manifest)
        try await stage.session.withLock {
            let plans = [
                try await stage.session.plan(manifest), try await stage.session.plan(manifest),
            ]
            var ends: [FailureCode?] = []
            for plan in plans {
                for try await event in stage.session.execute(plan) {
                    switch event.body {
                    case .done: ends.append(nil)
                    case .failed(let failed): ends.append(failed.error.code)
                    default: break
                    }
                }
            }
            #expect(ends == [nil, .sourceChanged], "what the server confirms is not there")
        }
        #expect(stage.read("a") == SessionStage.v2)
        let root = try RootDirectory(opening: stage.session.root)
        let index = try Index.openForReading(root)
        let row = try index.record(for: resource.target)
        #expect(row?.sha256 == ByteHasher.digest(.sha256, of: SessionStage.v2))
        try index.close()
    }

    /// A copy reads the row of its source when it begins. The run of another plan may have given that
    /// source its next version by then, which is none of what the copy is for.
    @Test func aCopyWithoutItsSourceIsFetched() async throws {
        let rig = try SessionRig()
        let (old, new): ([UInt8], [UInt8]) = ([1, 2, 3], [4, 5, 6, 7])
        func pinned(_ path: String, _ bytes: [UInt8]) throws -> Resource {
            var resource = try rig.resource(path, bytes)
            resource.digests = [ByteHasher.digest(.sha256, of: bytes)]
            return resource
        }
        let before = try pinned("Caches/a.bin", old)
        try await rig.session.sync(Manifest(name: "m", resources: [before]))
        let copying = Manifest(
            name: "m", resources: [before, try pinned("Caches/b.bin", old)])
        let updating = Manifest(name: "m", resources: [try pinned("Caches/a.bin", new)])
        try await rig.session.withLock {
            let plan = try await rig.session.plan(copying)
            let copy = try #require(plan.steps.first { $0.kind == .copy })
            #expect(copy.means == .copy(of: before.target))
            let update = try await rig.session.plan(updating)
            for plan in [update, plan] {
                for try await _ in rig.session.execute(plan) {}
            }
        }
        #expect(rig.bytes("Caches/a.bin") == new)
        #expect(rig.bytes("Caches/b.bin") == old)
    }

    /// Nothing pins the file, so that its source alone says which bytes are wanted.
    @Test func whatIsNoOrphanIsNotCopied() async throws {
        let rig = try SessionRig()
        let (old, new): ([UInt8], [UInt8]) = ([1, 2, 3], [4, 5, 6])
        let source = try rig.resource("Caches/a.bin", old)
        try await rig.session.sync(Manifest(name: "m", resources: [source]))
        let renamed = Resource(
            target: try Target("Caches/b.bin"), url: try SourceURL(rig.server.url + "/a.bin"))
        _ = try rig.resource("Caches/other.bin", new)
        let other = Resource(
            target: source.target, url: try SourceURL(rig.server.url + "/other.bin"))
        try await rig.session.withLock {
            let plan = try await rig.session.plan(Manifest(name: "m", resources: [renamed]))
            let copy = try #require(plan.steps.first { $0.target == renamed.target })
            #expect(copy.means == .copy(of: source.target))
            let update = try await rig.session.plan(Manifest(name: "m", resources: [other]))
            for plan in [update, plan] {
                for try await _ in rig.session.execute(plan) {}
            }
        }
        #expect(rig.bytes("Caches/a.bin") == new)
        #expect(rig.bytes("Caches/b.bin") == old)
    }

    /// Removals without a run change rows too.
    @Test func anEvictionEndsWhatAPlanKnows() async throws {
        let rig = try SessionRig()
        let file = try rig.resource("Caches/a.bin", [1, 2, 3])
        let manifest = Manifest(name: "m", resources: [file])
        try await rig.session.sync(manifest)
        try await rig.session.withLock {
            let plan = try await rig.session.plan(manifest)
            let mark = try #require(plan.rowsMark)
            try await rig.session.withEngine(waitingSeconds: 0) { engine in
                #expect(engine.index.rows.areThose(of: mark))
            }
            _ = try await CacheEviction(toQuota: 0).carryOut(in: rig.session)
            try await rig.session.withEngine(waitingSeconds: 0) { engine in
                #expect(!engine.index.rows.areThose(of: mark))
            }
        }
    }
}
