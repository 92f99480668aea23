import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Sets on a real disk: all files of the set change, or none, and nobody else's bytes are lost.
@Suite struct SetPromotionTests {
    typealias Ground = SetGround
    typealias Way = SetGround.Way

    private static let old = SetGround.old
    private static let new = SetGround.new

    @Test(arguments: Way.allCases) func aSetIsPromotedAsAWhole(way: Way) async throws {
        let ground = try await Ground(way)
        let result = try await ground.promote()
        let promoted = try #require(result.promoted, "\(result)")
        #expect(promoted.files.values.allSatisfy { $0.failure == nil })
        #expect(promoted.stayed.isEmpty)
        #expect(promoted.way == (way.isExchange ? .exchange : .rename))
        #expect(ground.texts() == Self.new)
        #expect(ground.leftovers == [])
        let (tree, settled) = try ground.recover()
        #expect(settled == Recovery.Settled())
        try ground.expectSettled(tree)
        for name in ["a", "same", "deep/b"] {
            let row = try #require(try tree.record(ground.path(name)))
            #expect(try tree.look(ground.path(name)) == .file(row.stamp), "\(name)")
        }
        await tree.promoter.stop()
    }

    @Test(arguments: Way.allCases, PromotionStep.allCases)
    func aCrashLeavesTheOldOrNewSet(way: Way, step: PromotionStep) async throws {
        let ground = try await Ground(way)
        _ = try await ground.promote(PromotionProbe(goesOn: { $0 != step }))
        if way.isExchange {
            #expect([Self.old, Self.new].contains(ground.texts()), "before the recovery")
        }
        let (tree, settled) = try ground.recover()
        let isNew = ground.texts() == Self.new
        #expect(isNew || ground.texts() == Self.old, "\(ground.texts())")
        let isCommitted = ![.staged, .intended, .builtAside, .flushedBytes].contains(step)
        #expect(isNew == (isCommitted || !reaches(step, way)))
        #expect(settled.conflicts.isEmpty)
        #expect(settled.lost.isEmpty)
        try ground.expectSettled(tree)
        // Verified downloads of a set that was not promoted are kept.
        #expect(ground.leftovers.count == (isNew ? 0 : 2), "\(ground.leftovers)")
        await tree.promoter.stop()
    }

    /// Where names cannot be exchanged, the file that is replaced has a second name for a moment.
    @Test(arguments: [PromotionStep.setAside, .placed])
    func aSetIsFinishedWithoutExchange(step: PromotionStep) async throws {
        let ground = try await Ground(.renameInDocuments)
        var probe = PromotionProbe(goesOn: { $0 != step })
        probe.allowsExchange = false
        _ = try await ground.promote(probe)
        probe.goesOn = { _ in true }
        let (tree, settled) = try ground.recover(probe)
        #expect(settled.unfinishedSets.isEmpty)
        #expect(settled.conflicts.isEmpty)
        #expect(ground.texts() == Self.new)
        #expect(ground.leftovers == [])
        try ground.expectSettled(tree)
        await tree.promoter.stop()
    }

    /// An edit that comes while the set is being finished is not taken for the set's own file.
    @Test(arguments: Way.allCases, [PromotionStep.exchangedFolder, .placed, .flushedNames])
    func editsOfNewFilesAreNotOurs(way: Way, step: PromotionStep) async throws {
        guard reaches(step, way) else { return }
        let ground = try await Ground(way)
        let (root, path) = (ground.folder.path + "/", ground.path("a"))
        let result = try await ground.promote(
            PromotionProbe(goesOn: { reached in
                guard reached == step else { return true }
                try? ground.folder.write("edited by its user", to: "saved")
                rename(root + "saved", root + path)
                return true
            }))
        #expect(result.promoted != nil, "\(result)")
        #expect(ground.texts()["a"] == "edited by its user")
        let tree = try PromotionTree(ground.folder)
        let row = try #require(try tree.record(path))
        #expect(try tree.look(path) != .file(row.stamp))
        #expect(row.stamp.size == Int64(Self.new["a"]?.utf8.count ?? 0))
        await tree.promoter.stop()
    }

    /// Whether a promotion comes by a step.
    private func reaches(_ step: PromotionStep, _ way: Way) -> Bool {
        switch step {
        case .exchangedFolder: way.isExchange
        case .exchanged: way == .renameInDocuments
        case .setAside: false
        default: true
        }
    }

    /// The rows are written last. Until then, and after a crash before it, the journal knows better.
    @Test(arguments: Way.allCases) func anInterruptedSetIsNotCalledEdited(
        way: Way
    ) async throws {
        let ground = try await Ground(way)
        _ = try await ground.promote(PromotionProbe(goesOn: { $0 != .placed }))
        #expect(ground.texts()["a"] == Self.new["a"])
        let resources = try ["a", "same", "deep/b"].map { name in
            Resource(
                target: try Target(ground.path(name)), url: try SourceURL("http://a.example/f"))
        }
        let session = try MirrorSession(root: ground.folder.path)
        let files = try await session.status(of: [Manifest(name: "m", resources: resources)])
        let known = files.filter { !$0.isOrphan }
        #expect(known.map(\.target) == resources.map(\.target).sorted())
        #expect(known.allSatisfy { $0.state == .intact }, "\(known)")
        for file in known {
            let name = String(file.target.path.dropFirst(way.rawValue.count + 1))
            let text = Array((Self.new[name] ?? "").utf8)
            #expect(file.sha256 == ByteHasher.digest(.sha256, of: text), "\(name)")
        }
    }

    /// One stays where its removal fails, for instance because it is a mount point then.
    @Test func aSetsEmptyFolderGoesLater() async throws {
        let ground = try await Ground(.exchange)
        _ = try await ground.promote()
        let target = try Target(Way.exchange.rawValue)
        let (empty, full) = (
            PartRecord.passingName(for: target), PartRecord.passingName(for: target)
        )
        for name in [empty, empty + "/deep"] {
            #expect(mkdir(ground.folder.path + "/tmp/" + name, 0o755) == 0)
        }
        try ground.folder.write("mine", to: "tmp/\(full)/note")
        #expect(try await ground.recovered() == Recovery.Settled())
        #expect(access(ground.folder.path + "/tmp/" + empty, F_OK) != 0)
        #expect(ground.folder.text(of: "tmp/\(full)/note") == "mine")
    }

    @Test(arguments: Way.allCases) func anObstacleLeavesTheOldSet(way: Way) async throws {
        let ground = try await Ground(way)
        let result = try await ground.promote { _ in
            try ground.folder.write([1], to: ground.path("deep/b/in/the/way"))
        }
        let causes = try #require(result.causes, "\(result)")
        #expect(causes.mapValues(\.code) == [1: .obstructed])
        #expect(ground.texts()["a"] == "old a")
        #expect(ground.texts()["gone"] == "gone")
        let (tree, _) = try ground.recover()
        #expect(ground.leftovers.count == 2)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test(arguments: Way.allCases) func anEditedOrphanLeavesTheOldSet(way: Way) async throws {
        let ground = try await Ground(way)
        let result = try await ground.promote { _ in
            try ground.folder.write(Array("edited".utf8), to: ground.path("gone"))
        }
        let causes = try #require(result.causes, "\(result)")
        #expect(causes.mapValues(\.code) == [2: .conflict])
        #expect(ground.texts()["a"] == "old a")
        #expect(ground.texts()["gone"] == "edited")
    }

    /// Files of other people in the folder keep it from being exchanged, and stay as they are.
    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func aFolderWithAStrangerIsNotExchanged(way: Way) async throws {
        let ground = try await Ground(way)
        try ground.folder.write(Array("mine".utf8), to: ground.path("notes/mine"))
        let before = try ground.inode(of: "notes/mine")
        #expect(try await ground.promote().promoted?.way == .rename)
        var expected = Self.new
        expected["notes/mine"] = "mine"
        #expect(ground.texts() == expected)
        #expect(try ground.inode(of: "notes/mine") == before)
        #expect(ground.leftovers == [])
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func foldersWithEditedFilesAreNotExchanged(way: Way) async throws {
        let ground = try await Ground(way)
        try ground.folder.write(Array("edited".utf8), to: ground.path("same"))
        #expect(try await ground.promote().promoted?.way == .rename)
        #expect(ground.texts()["same"] == "edited")
        #expect(ground.texts()["a"] == Self.new["a"])
        #expect(ground.leftovers == [])
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func otherBytesGetAConflictName(way: Way) async throws {
        let ground = try await Ground(way)
        try ground.folder.write(Array("theirs".utf8), to: ground.path("deep/b"))
        let promoted = try #require(try await ground.promote().promoted)
        #expect(promoted.way == .rename)
        let name = try #require(promoted.files[1]?.conflict)
        #expect(ground.folder.text(of: name) == "theirs")
        #expect(ground.texts()["deep/b"] == "new b")
    }

    /// What is written into the old folder between the look and the exchange is not lost.
    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func lateFilesAreGivenBack(way: Way) async throws {
        let ground = try await Ground(way)
        let folder = ground.folder
        let (added, edited) = (ground.path("late/new"), ground.path("same"))
        let probe = PromotionProbe(goesOn: { step in
            if step == .committed {
                try? folder.write(Array("late".utf8), to: added)
                unlink(folder.path + "/" + edited)
                try? folder.write(Array("edited!".utf8), to: edited)
            }
            return true
        })
        let promoted = try #require(try await ground.promote(probe).promoted)
        #expect(promoted.way == .exchange)
        #expect(ground.texts()["late/new"] == "late")
        #expect(ground.texts()["same"] == "same")
        let kept = try #require(promoted.kept.first)
        #expect(ground.folder.text(of: kept) == "edited!")
        #expect(ground.texts().count == Self.new.count + 2, "\(ground.texts())")
        #expect(ground.leftovers == [])
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func aCrashAfterTheExchangeReturnsLateFiles(way: Way) async throws {
        let ground = try await Ground(way)
        let folder = ground.folder
        let added = ground.path("late")
        let probe = PromotionProbe(goesOn: { step in
            if step == .committed { try? folder.write(Array("late".utf8), to: added) }
            return step != .exchangedFolder
        })
        _ = try await ground.promote(probe)
        let (tree, settled) = try ground.recover()
        var expected = Self.new
        expected["late"] = "late"
        #expect(ground.texts() == expected)
        #expect(settled.finishedSets == [Owners("m")])
        #expect(ground.leftovers == [])
        await tree.promoter.stop()
    }

    @Test func aFolderWithALinkIsNotExchanged() async throws {
        let ground = try await Ground(.exchange)
        symlink("a", ground.folder.path + "/" + ground.path("link"))
        #expect(try await ground.promote().promoted?.way == .rename)
        #expect(ground.texts()["a"] == "new a!")
        #expect(ground.leftovers == [])
    }

    @Test func foldersWithForeignFilesAreNotExchanged() async throws {
        let ground = try await Ground(.exchange)
        let tree = try PromotionTree(ground.folder)
        var record = try await tree.put(ground.path("other"), "other")
        record.owners = Owners("n")
        try tree.index.put([record])
        await tree.promoter.stop()
        try tree.index.close()
        #expect(try await ground.promote().promoted?.way == .rename)
        #expect(ground.texts()["other"] == "other")
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func aFileSystemThatCannotExchangeRenames(way: Way) async throws {
        let ground = try await Ground(way)
        var probe = PromotionProbe()
        probe.allowsExchange = false
        #expect(try await ground.promote(probe).promoted?.way == .rename)
        #expect(ground.texts() == Self.new)
        #expect(ground.leftovers == [])
    }

    /// A reader in the middle of a journal sees the rows of the versions that are there.
    @Test(arguments: [Way.exchange, .renameInDocuments], [PromotionStep.committed, .placed])
    func readersInBetweenSeeRowsOfPresentFiles(way: Way, step: PromotionStep) async throws {
        let ground = try await Ground(way)
        _ = try await ground.promote(PromotionProbe(goesOn: { $0 != step }))
        let root = try RootDirectory(opening: ground.folder.path)
        let reader = try Index.openForReading(root)
        for name in ["a", "same"] {
            let target = try Target(ground.path(name))
            let there = try FileDigests.read(target, in: root)?.digests.first
            #expect(try reader.record(for: target)?.sha256 == there, "\(name)")
        }
        var cursor = try reader.projectionCursor(from: "")
        var paths: [String] = []
        while try cursor.next() { paths.append(try cursor.rowTarget().path) }
        #expect(paths == paths.sorted())
        #expect(paths.contains(ground.path("deep/b")) == (step == .placed))
        try reader.close()
    }

    @Test func aFailedFlushBeforeTheCommitChangesNothing() async throws {
        let ground = try await Ground(.exchange)
        var probe = PromotionProbe()
        probe.flushError = { Errno(number: EIO, call: "fsync", path: "x") }
        let result = try await ground.promote(probe)
        let causes = try #require(result.causes, "\(result)")
        #expect(Set(causes.values.map(\.code)) == [.inputOutput])
        #expect(ground.texts() == Self.old)
    }
}
