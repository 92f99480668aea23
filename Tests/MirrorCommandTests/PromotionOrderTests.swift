import Glibc
import MirrorTestSupport
import Testing

/// The order of a promotion, as the kernel sees it: the bytes of a file and the intent of its promotion
/// are on the disk before the file gets its name, its folder before the index says so, and that before
/// anybody is told.
///
/// The last file of each run is held back by its server until the others have been reported: what their
/// reports rest on was flushed by then, or by nothing.
@Suite(
    .serialized, .timeLimit(.minutes(15)),
    .enabled(if: DurabilityWatch.reasonNotPossible == nil, "tracing is not permitted here"))
struct PromotionOrderTests {
    /// A part that becomes a file, and a small file that never had a name in tmp.
    @Test(arguments: [300_000, 900])
    func oneFileIsDurableBeforeItIsReported(_ size: Int) async throws {
        let report = try await Stage.watch(["Caches/deep/a.bin": size])
        #expect(report.flaws == [])
        #expect(report.named == ["Caches/deep/a.bin", Stage.last])
        #expect(!report.hasGroupFlush)
    }

    @Test(.enabled(if: GroupFlush.isUsed, "the file system of /tmp is flushed file by file"))
    func manyFilesAreDurableBeforeTheyAreReported() async throws {
        let names = (0..<120).map {
            "\($0 % 2 == 0 ? "Caches" : "Documents")/many/\($0 / 40)/\($0)"
        }
        let files = Dictionary(
            uniqueKeysWithValues: names.map { ($0, 700 + 20_000 * ($0.utf8.count % 3)) })
        let report = try await Stage.watch(files)
        #expect(report.flaws == [])
        #expect(Set(report.named) == Set(names + [Stage.last]))
        #expect(report.hasGroupFlush)
    }

    /// Several batches are on their way at once, and a flush serves all of them.
    @Test(.enabled(if: GroupFlush.isUsed, "the file system of /tmp is flushed file by file"))
    func eachBatchIsDurableBeforeItIsReported() async throws {
        let names = (0..<2_400).map { "Caches/many/\($0 / 300)/\($0)" }
        let report = try await Stage.watch(
            Dictionary(uniqueKeysWithValues: names.map { ($0, 700) }))
        #expect(report.flaws == [])
        #expect(Set(report.named) == Set(names + [Stage.last]))
        #expect(report.hasGroupFlush)
    }

    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func aCopiedFileIsDurableBeforeReported() async throws {
        let report = try await Stage.watch(["Documents/a.bin": 300_000], tmpElsewhere: true)
        #expect(report.flaws == [])
        #expect(report.named == ["Documents/a.bin", Stage.last])
    }

    @Test func aNewDocumentVersionIsDurableBeforeReported() async throws {
        let report = try await Stage.watch(["Documents/a.bin": 300_000], versions: 2)
        #expect(report.flaws == [])
        #expect(report.named == ["Documents/a.bin", Stage.last])
    }

    @Test(.enabled(if: GroupFlush.isUsed, "the file system of /tmp is flushed file by file"))
    func manyAdoptedFilesAreDurableBeforeReported() async throws {
        let names = (0..<40).map { "Documents/\($0)" }
        let report = try await Stage.watch(
            Dictionary(uniqueKeysWithValues: names.map { ($0, 900) }), before: .there)
        #expect(report.flaws == [])
        #expect(report.named == [Stage.last])
        #expect(report.hasGroupFlush)
    }

    @Test func anAdoptedFileIsDurableBeforeReported() async throws {
        let report = try await Stage.watch(["Documents/a.bin": 300_000], before: .there)
        #expect(report.flaws == [])
        #expect(report.reported.first == "Documents/a.bin")
        #expect(report.named == [Stage.last])
    }

    /// Its row is there already, and says that the bytes last: those were others.
    @Test func aRewrittenFileIsDurableBeforeReported() async throws {
        let report = try await Stage.watch(["Documents/a.bin": 300_000], before: .rewritten)
        #expect(report.flaws == [])
        #expect(report.reported.first == "Documents/a.bin")
        #expect(report.named == [Stage.last])
    }

    @Test func recoveryMakesNamesDurableBeforeForgettingIntents() async throws {
        let (killed, report) = try await DetachedThread.run {
            let stage = try Stage(["Caches/deep/a.bin": 300_000])
            defer { stage.end() }
            let killed = try stage.watch().run(killedAfterNaming: "Caches/deep/a.bin")
            return (killed, try stage.watch().run { _ in stage.release() })
        }
        #expect(killed.result.ending == .signalled(SIGKILL))
        #expect(report.result.ending == .exited(0))
        #expect(report.flushedBeforeRows.isSuperset(of: ["Caches/deep/a.bin", "Caches/deep"]))
    }

    /// A set is in a folder of its own, which is exchanged, or its files are renamed.
    @Test(arguments: ["Caches/set", "Caches", "Documents"], [3, 40])
    func aSetIsDurableBeforeItIsReported(folder: String, count: Int) async throws {
        let names = (0..<count).map { "\(folder)/\($0 % 3)/\($0)" }
        let report = try await SetStage.watch(names)
        #expect(report.result.ending == .exited(0), "\(report.result.errors)")
        #expect(report.flaws == [])
        #expect(Set(report.reported) == Set(names))
        #expect(Set(report.named).isSuperset(of: names))
        #expect(report.hasGroupFlush == (count > 16 && GroupFlush.isUsed))
    }

    @Test(arguments: ["Caches/set", "Caches", "Documents"])
    func recoveryMakesSetsDurableBeforeForgettingJournals(
        folder: String
    ) async throws {
        let names = (0..<3).map { "\(folder)/\($0)/f" }
        let (killed, report) = try await DetachedThread.run {
            let stage = try SetStage(names)
            defer { stage.end() }
            let killed = try stage.watch().run(killedAfterNaming: "\(folder)/2/f")
            return (killed, try stage.watch().run())
        }
        #expect(killed.result.ending == .signalled(SIGKILL))
        #expect(report.result.ending == .exited(0), "\(report.result.errors)")
        let isExchanged = folder == "Caches/set"
        let folders = isExchanged ? ["Caches", "tmp"] : (0..<3).map { "\(folder)/\($0)" }
        #expect(report.flushedBeforeRows.isSuperset(of: folders), "\(report.flushedBeforeRows)")
    }
}

/// A root with the old version of a set, and an origin with the new one.
private struct SetStage {
    private let ground: Playground
    private let server: OriginServer
    private let manifest: String

    init(_ names: [String]) throws {
        let shelf = MemoryShelf()
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        server = try OriginServer(responder: ShelfOrigin(shelf))
        let resources = names.map { "{\"path\":\"\($0)\",\"url\":\"\($0)\"}" }
        manifest = try ground.write(
            manifest: "{\"name\":\"order\",\"base\":\"\(server.url)/\",\"resources\":["
                + resources.joined(separator: ",") + "]}")
        for version in 1...2 {
            for (seed, name) in names.enumerated() {
                let bytes = TestBytes.make(900 + seed, seed: UInt64(seed * 10 + version))
                shelf.put("/" + name, bytes)
            }
            if version == 1 { _ = try ground.sync(manifest, ["--atomic"]).wait() }
        }
    }

    func end() {
        server.stop()
        ground.remove()
    }

    func watch() throws -> DurabilityWatch {
        try DurabilityWatch(ground, manifest: manifest, ["--atomic", "--refresh"])
    }

    static func watch(_ names: [String]) async throws -> DurabilityWatch.Report {
        try await DetachedThread.run {
            let stage = try SetStage(names)
            defer { stage.end() }
            return try stage.watch().run()
        }
    }
}

/// A root, its origin, and a manifest whose last file the origin holds back.
private struct Stage {
    static let last = "Caches/last.bin"
    private static let held = 400_000

    private let ground: Playground
    private let shelf = MemoryShelf()
    private let origin: ShelfOrigin
    private let server: OriginServer
    private let manifest: String
    private let other: SmallFileSystem?

    /// What is in the root before the run.
    enum Beginning {
        case nothing
        /// The files, which somebody else has put there.
        case there
        /// The files, which mirror has put there, and which somebody has written once more.
        case rewritten
    }

    init(
        _ files: [String: Int], tmpElsewhere: Bool = false, versions: Int = 1,
        before beginning: Beginning = .nothing
    )
        throws
    {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        origin = ShelfOrigin(shelf, holdingAfter: Stage.held)
        server = try OriginServer(responder: origin)
        if tmpElsewhere { try ground.root.makeFolders(above: "tmp/.") }
        other =
            try tmpElsewhere
            ? SmallFileSystem(bytes: 256 << 20, at: ground.root.full("tmp")) : nil
        var manifest = ""
        let versions = beginning == .rewritten ? 2 : versions
        for version in 1...versions {
            var resources: [String] = []
            for (seed, name) in files.keys.sorted().enumerated() {
                let version = beginning == .rewritten ? 1 : version
                let bytes = TestBytes.make(files[name] ?? 0, seed: UInt64(seed * 10 + version))
                shelf.put("/" + name, bytes)
                if beginning == .there { try ground.root.write(name, bytes) }
                let isPinned = beginning != .nothing
                let pin = isPinned ? ",\"sha256\":\"\(Checksum.sha256(bytes))\"" : ""
                resources.append("{\"path\":\"\(name)\",\"url\":\"\(name)\"\(pin)}")
            }
            let isLast = version == versions
            if isLast, beginning == .rewritten {
                for name in files.keys { try ground.root.write(name, ground.root.read(name) ?? []) }
            }
            if isLast {
                shelf.put("/" + Stage.last, TestBytes.make(2 * Stage.held, seed: 99))
                resources.append("{\"path\":\"\(Stage.last)\",\"url\":\"\(Stage.last)\"}")
            }
            manifest = try ground.write(
                manifest: "{\"name\":\"order\",\"base\":\"\(server.url)/\",\"resources\":["
                    + resources.joined(separator: ",") + "]}")
            if !isLast { _ = try ground.sync(manifest).wait() }
        }
        self.manifest = manifest
    }

    func end() {
        origin.release()
        server.stop()
        withExtendedLifetime(other) {}
        ground.remove()
    }

    func release() { origin.release() }

    func watch() throws -> DurabilityWatch { try DurabilityWatch(ground, manifest: manifest) }

    /// Runs, and lets the last file go on when all others were reported.
    static func watch(
        _ files: [String: Int], tmpElsewhere: Bool = false, versions: Int = 1,
        before beginning: Beginning = .nothing
    ) async throws -> DurabilityWatch.Report {
        let report = try await DetachedThread.run {
            let stage = try Stage(
                files, tmpElsewhere: tmpElsewhere, versions: versions, before: beginning)
            defer { stage.end() }
            return try stage.watch().run { if $0 == files.count { stage.release() } }
        }
        #expect(report.result.ending == .exited(0), "\(report.result.errors)")
        #expect(Set(report.reported) == Set(files.keys).union([Stage.last]))
        return report
    }
}
