import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// What a session remembers of manifests, and finds again after they, or the root, were moved.
@Suite struct RememberedManifestTests {
    private let ground: TemporaryFolder
    private let bytes = Array("the bytes of a file".utf8)

    init() throws {
        ground = try TemporaryFolder()
        try ground.write(bytes, to: "files/a.txt")
    }

    private func write(_ path: String, name: String = "maps", target: String = "Caches/a") throws {
        let sum = ByteHasher.digest(.sha256, of: bytes).hex
        let text = """
            { "name": "\(name)", "resources": [
              { "path": "\(target)", "url": "file://\(ground.path)/files/a.txt", "sha256": "\(sum)" } ] }
            """
        try ground.write(Array(text.utf8), to: path)
    }

    private func session(_ root: String) throws -> MirrorSession {
        var configuration = Configuration()
        configuration.minFree = 0
        return try MirrorSession(
            root: ground.path + "/" + root, configuration: configuration)
    }

    /// Syncs manifests by their paths, or what the root remembers.
    @discardableResult
    private func sync(_ root: String, _ paths: String...) async throws -> LoadedManifests {
        let session = try session(root)
        let loaded = try await session.manifests.load(
            paths.map { .path(ground.path + "/" + $0) },
            selection: paths.isEmpty ? nil : Selection())
        try await session.withLock {
            let plan = try await session.plan(loaded.manifests)
            for try await _ in session.execute(plan) {}
        }
        return loaded
    }

    private func move(_ from: String, _ to: String) throws {
        try #require(rename(ground.path + "/" + from, ground.path + "/" + to) == 0)
    }

    private func remembered(_ root: String) async throws -> [RememberedManifest] {
        try await session(root).manifests.remembered()
    }

    /// What is remembered is what the run was about, also when the file is read again meanwhile.
    @Test func aRunRemembersTheTextThatItRead() async throws {
        try write("m.json")
        let read = ByteHasher.digest(.sha256, of: try #require(ground.bytes(of: "m.json")))
        let session = try session("root")
        let source = ManifestSource.path(ground.path + "/m.json")
        let loaded = try await session.manifests.load([source], selection: Selection())
        try await session.withLock {
            let plan = try await session.plan(loaded.manifests)
            var hasReadAgain = false
            for try await _ in session.execute(plan) where !hasReadAgain {
                hasReadAgain = true
                try write("n.json", target: "Caches/b")
                try move("n.json", "m.json")
                _ = try await session.manifests.load([source], selection: Selection())
            }
        }
        let index = try Index.openForReading(RootDirectory(opening: ground.path + "/root"))
        defer { try? index.close() }
        let row = try #require(try index.manifests().first)
        // It may have lost its name before it was copied, and with that its stamp: the next run takes
        // the copy of the new one.
        #expect([nil, read].contains(row.copyDigest))
        #expect((row.stamp == nil) == (row.copyDigest == nil))
    }

    /// However a first run ends, the next one can do without being told its manifest.
    @Test func aManifestIsRememberedDuringItsFirstRun() async throws {
        let shelf = MemoryShelf()
        shelf.put("/b", TestBytes.make(200_000, seed: 1))
        let origin = ShelfOrigin(shelf, holdingAfter: 1000)
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let text = """
            { "name": "slow", "resources": [ { "path": "Caches/b", "url": "\(server.url)/b" } ] }
            """
        try ground.write(Array(text.utf8), to: "m.json")
        let session = try session("root")
        let source = ManifestSource.path(ground.path + "/m.json")
        let loaded = try await session.manifests.load([source], selection: Selection())
        let run = session.execute(try await session.plan(loaded.manifests))
        async let summary: Int32? = {
            var exit: Int32?
            for try await event in run {
                if case .summary(let summary) = event.body { exit = summary.exit }
            }
            return exit
        }()
        var rows: [ManifestRecord] = []
        while rows.isEmpty {
            try await Task.sleep(for: .milliseconds(20))
            guard
                let index = try? Index.openForReading(
                    RootDirectory(opening: ground.path + "/root"))
            else { continue }
            rows = try index.manifests()
            try? index.close()
        }
        #expect(rows.map(\.name) == ["slow"])
        #expect(rows.map(\.syncedAt) == [nil])
        origin.release()
        #expect(try await summary == 0)
        #expect(try await session.manifests.remembered().map { $0.syncedAt != nil } == [true])
    }

    @Test func aPruneIsNoSyncOfItsManifest() async throws {
        try write("m.json")
        try await sync("root", "m.json")
        let synced = try await remembered("root").map(\.syncedAt)
        #expect(synced.allSatisfy { $0 != nil })
        try ground.write(Array(#"{ "name": "maps", "resources": [] }"#.utf8), to: "m.json")
        let session = try session("root")
        let loaded = try await session.manifests.load(
            [.path(ground.path + "/m.json")], selection: Selection())
        var planning = PlanOptions()
        planning.prune = true
        var options = RunOptions()
        options.maxDelete = .count(1)
        try await session.withLock { [planning, options] in
            let plan = try await session.plan(loaded.manifests, options: planning).removalsOnly
            for try await _ in session.execute(plan, options: options) {}
        }
        #expect(ground.bytes(of: "root/Caches/a") == nil)
        #expect(try await remembered("root").map(\.syncedAt) == synced)
    }

    @Test(arguments: ["m.json", "root/m.json", "ci/deep/m.json"])
    func rootAndManifestMoveTogether(_ place: String) async throws {
        try write("job/" + place)
        try await sync("job/root", "job/" + place)
        try move("job", "elsewhere")
        let loaded = try await sync("elsewhere/root")
        #expect(loaded.notices.isEmpty)
        let known = try await remembered("elsewhere/root")
        #expect(known.map(\.isThere) == [true])
        #expect(known.map(\.place) == [ground.path + "/elsewhere/" + place])
    }

    @Test func aFartherPlaceIsFoundWhereItWas() async throws {
        try write("job/ci/m.json")
        try await sync("job/root", "job/ci/m.json")
        try move("job/root", "moved")
        let loaded = try await sync("moved")
        #expect(loaded.notices.isEmpty)
        #expect(loaded.manifests.map(\.name) == ["maps"])
    }

    @Test func aRootMovedAloneUsesTheCopy() async throws {
        try write("job/m.json")
        try await sync("job/root", "job/m.json")
        try ground.write([], to: "far/.keep")
        try move("job/root", "far/root")
        let loaded = try await sync("far/root")
        #expect(loaded.notices.count == 1)
        #expect(loaded.notices[0].message.contains("The last good copy of maps, "))
        #expect(loaded.manifests.map(\.resources.count) == [1])
    }

    @Test func aRunWithNothingToDoWritesNothing() async throws {
        try write("m.json")
        try await sync("root", "m.json")
        let files = [".mirror/index.sqlite", ".mirror/manifests"].map {
            ground.path + "/root/" + $0
        }
        let before = files.map(changed)
        try await sync("root", "m.json")
        try await sync("root")
        #expect(files.map(changed) == before)
    }

    /// The inode change time of a file, in nanoseconds.
    private func changed(_ path: String) -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else { return -1 }
        return status.st_ctim.tv_sec * 1_000_000_000 + status.st_ctim.tv_nsec
    }

    @Test func aNewTextReplacesTheCopy() async throws {
        try write("m.json")
        try await sync("root", "m.json")
        let first = ground.names(in: "root/.mirror/manifests")
        try write("m.json", target: "Caches/b")
        try await sync("root")
        let second = ground.names(in: "root/.mirror/manifests")
        #expect(first.count == 1 && second.count == 1 && first != second)
        var status = stat()
        try #require(stat(ground.path + "/root/.mirror/manifests/" + second[0], &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        try #require(unlink(ground.path + "/m.json") == 0)
        let served = try await sync("root").manifests
        #expect(served.map { $0.resources.target(at: 0).path } == ["Caches/b"])
    }

    @Test func aTouchedTextIsNotCopiedAgain() async throws {
        try write("m.json")
        try await sync("root", "m.json")
        let before = try await remembered("root")
        try write("m.json")
        try await sync("root")
        #expect(try await remembered("root").map(\.copiedAt) == before.map(\.copiedAt))
    }

    @Test func aCopyThatSomebodyAlteredServesNobody() async throws {
        try write("m.json")
        try await sync("root", "m.json")
        let name = try #require(ground.names(in: "root/.mirror/manifests").first)
        try ground.write(Array("{}".utf8), to: "root/.mirror/manifests/" + name)
        try #require(unlink(ground.path + "/m.json") == 0)
        await #expect(throws: MirrorError.self) { try await sync("root") }
        let session = try session("root")
        let lenient = try await session.manifests.loadRemembered()
        #expect(lenient.manifests.isEmpty)
        #expect(lenient.notices.first?.remedy == Remedy(.nameManifest, "maps"))
    }

    @Test func anotherManifestDoesNotTakeTheName() async throws {
        try write("a.json", name: "a")
        try write("b.json", name: "b", target: "Caches/b")
        try await sync("root", "a.json", "b.json")
        try write("a.json", name: "b", target: "Caches/b")
        let loaded = try await sync("root")
        #expect(loaded.manifests.map(\.name) == ["a", "b"])
        #expect(loaded.notices.first?.message.contains("is the manifest b now") == true)
    }

    @Test func aLinkIsKeptAsALink() async throws {
        try write("v1.json")
        try #require(symlink("v1.json", ground.path + "/latest.json") == 0)
        try await sync("root", "latest.json")
        try write("v2.json", target: "Caches/b")
        try #require(unlink(ground.path + "/latest.json") == 0)
        try #require(symlink("v2.json", ground.path + "/latest.json") == 0)
        let loaded = try await sync("root")
        #expect(loaded.manifests.map { $0.resources.target(at: 0).path } == ["Caches/b"])
    }
}
