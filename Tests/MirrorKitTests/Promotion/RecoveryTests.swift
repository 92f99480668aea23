import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

@Suite struct RecoveryTests {
    /// Runs one promotion that is cut off after a step, on a tree that another run prepared.
    private func crash(
        _ folder: TemporaryFolder, after step: PromotionStep, allowsExchange: Bool = true,
        allowsUnnamedFiles: Bool = true, _ promotion: (PromotionTree) throws -> Promotion
    ) async throws {
        var probe = PromotionProbe(goesOn: { $0 != step })
        probe.allowsExchange = allowsExchange
        probe.allowsUnnamedFiles = allowsUnnamedFiles
        let tree = try PromotionTree(folder, probe)
        _ = await tree.promote(try promotion(tree))
        await tree.promoter.stop()
    }

    /// Opens the tree as the next run does.
    private func recover(
        _ folder: TemporaryFolder
    ) throws -> (tree: PromotionTree, settled: Recovery.Settled) {
        let tree = try PromotionTree(folder)
        return (
            tree, try Recovery.settle(tree.root, tree.index, now: PromotionTree.time)
        )
    }

    private func files(_ folder: TemporaryFolder) -> [String] {
        folder.names().filter { !$0.hasPrefix(".mirror/") }
    }

    /// Whether the row of a target is that of the file that is there.
    private func expectRowFits(_ tree: PromotionTree, _ path: String) throws {
        let row = try #require(try tree.record(path))
        #expect(try tree.look(path) == .file(row.stamp))
        let read = try FileDigests.read(try Target(path), in: tree.root)
        #expect(read?.digests == [row.sha256])
    }

    @Test(arguments: PromotionStep.allCases, [true, false])
    func aFirstVersionIsWholeOrAbsent(
        step: PromotionStep, allowsUnnamedFiles: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        try await crash(folder, after: step, allowsUnnamedFiles: allowsUnnamedFiles) {
            try $0.promotion("Documents/a/f", "new")
        }
        let (tree, settled) = try recover(folder)
        if folder.text(of: "Documents/a/f") != nil {
            #expect(files(folder) == ["Documents/a/f"])
            try expectRowFits(tree, "Documents/a/f")
        } else {
            #expect(files(folder).isEmpty)
            #expect(try tree.record("Documents/a/f") == nil)
            // What had no name went with the process.
            #expect(settled.removedFiles == (allowsUnnamedFiles ? 0 : 1))
        }
        #expect(settled.conflicts.isEmpty)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test(arguments: PromotionStep.allCases, ["Documents/f", "Caches/f"])
    func anUpdateLeavesOneOfTwoVersions(step: PromotionStep, path: String) async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put(path, "old")
        await before.promoter.stop()
        try await crash(folder, after: step) {
            try $0.promotion(path, "newer", over: .ours(old.stamp))
        }
        let (tree, settled) = try recover(folder)
        #expect(files(folder) == [path])
        #expect(["old", "newer"].contains(folder.text(of: path)))
        try expectRowFits(tree, path)
        #expect(settled.conflicts.isEmpty)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test(arguments: PromotionStep.allCases)
    func withoutExchangeAnUpdateLeavesOneVersion(step: PromotionStep) async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f", "old")
        await before.promoter.stop()
        try await crash(folder, after: step, allowsExchange: false) {
            try $0.promotion("Documents/f", "newer", over: .ours(old.stamp))
        }
        let (tree, settled) = try recover(folder)
        #expect(files(folder) == ["Documents/f"])
        // A second name changes the ctime, so the file is read again and found to be right.
        let read = try FileDigests.read(try Target("Documents/f"), in: tree.root)
        #expect(try read?.digests.first == tree.record("Documents/f")?.sha256)
        #expect(settled.conflicts.isEmpty)
        await tree.promoter.stop()
    }

    /// After a crash neither a size nor an inode's number tells which bytes a file has.
    @Test func equalSizeDoesNotProveTheIntendedBytes() async throws {
        let folder = try TemporaryFolder()
        try await crash(folder, after: .flushedBytes, allowsUnnamedFiles: false) {
            try $0.promotion("Documents/f", "new!")
        }
        try folder.write("edit", to: "Documents/f")
        let (tree, settled) = try recover(folder)
        #expect(settled.completed.isEmpty)
        #expect(try tree.record("Documents/f") == nil)
        #expect(folder.text(of: "Documents/f") == "edit")
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test func aTargetSetAsideComesBack() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f", "old")
        await before.promoter.stop()
        try await crash(folder, after: .setAside, allowsExchange: false) {
            try $0.promotion("Documents/f", "newer", over: .ours(old.stamp))
        }
        // Without hard links the second name is the only one.
        unlink(folder.path + "/Documents/f")
        let (tree, _) = try recover(folder)
        #expect(files(folder) == ["Documents/f"])
        #expect(folder.text(of: "Documents/f") == "old")
        await tree.promoter.stop()
    }

    @Test func anExchangedEditOutlivesALaterDiskFailure() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f.txt", "old")
        await before.promoter.stop()
        var probe = PromotionProbe()
        probe.lookError = {
            // The edit came in between the look and the exchange.
            guard let part = folder.names(in: "tmp").first else { return nil }
            try? folder.write("edited", to: "tmp/" + part)
            return Errno(number: EIO, call: "statx", path: "Documents/f.txt")
        }
        let failing = try PromotionTree(folder, probe)
        let promotion = try failing.promotion("Documents/f.txt", "new", over: .ours(old.stamp))
        #expect(await failing.promote(promotion).failure?.code == .inputOutput)
        await failing.promoter.stop()
        let (tree, settled) = try recover(folder)
        let conflict = try #require(settled.conflicts.first).path
        #expect(folder.text(of: conflict) == "edited")
        #expect(folder.text(of: "Documents/f.txt") == "new")
        try expectRowFits(tree, "Documents/f.txt")
        await tree.promoter.stop()
    }

    /// The flush that fails next makes all parts go, but the edit lies under a part's name.
    @Test func anExchangedEditOutlivesAFailedFlush() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f.txt", "old")
        await before.promoter.stop()
        var probe = PromotionProbe()
        let hasFailed = Atomic<Bool>(false)
        probe.lookError = {
            guard let part = folder.names(in: "tmp").first,
                !hasFailed.exchange(true, ordering: .relaxed)
            else { return nil }
            try? folder.write("edited", to: "tmp/" + part)
            return Errno(number: EIO, call: "statx", path: "Documents/f.txt")
        }
        probe.flushError = {
            hasFailed.load(ordering: .relaxed)
                ? Errno(number: EIO, call: "fsync", path: "disk") : nil
        }
        let failing = try PromotionTree(folder, probe)
        let promotion = try failing.promotion("Documents/f.txt", "new", over: .ours(old.stamp))
        #expect(await failing.promote(promotion).failure?.code == .inputOutput)
        let next = try failing.promotion("Documents/g.txt", "next")
        #expect(await failing.promote(next).failure?.code == .inputOutput)
        await failing.promoter.stop()
        let (tree, settled) = try recover(folder)
        #expect(folder.text(of: try #require(settled.conflicts.first).path) == "edited")
        #expect(folder.text(of: "Documents/f.txt") == "new")
        await tree.promoter.stop()
    }

    /// Another run of the session would cut the edit to what it trusts of a part.
    @Test func anExchangedEditIsNoPart() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f.txt", "old")
        await before.promoter.stop()
        var probe = PromotionProbe()
        probe.lookError = { Errno(number: EIO, call: "statx", path: "Documents/f.txt") }
        let failing = try PromotionTree(folder, probe)
        let promotion = try failing.promotionOfPart("Documents/f.txt", "new")
        #expect(try failing.index.parts(for: old.target).count == 1)
        #expect(await failing.promote(promotion).failure?.code == .inputOutput)
        #expect(folder.names(in: "tmp").map { folder.text(of: "tmp/" + $0) } == ["old"])
        #expect(try failing.index.parts(for: old.target).isEmpty)
        await failing.promoter.stop()
    }

    @Test func anExchangedEditIsFoundAgain() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f.txt", "old")
        await before.promoter.stop()
        try await crash(folder, after: .exchanged) {
            try $0.promotion("Documents/f.txt", "new", over: .ours(old.stamp))
        }
        // The edit came in between the look and the exchange.
        let part = try #require(folder.names(in: "tmp").first)
        try folder.write("edited", to: "tmp/" + part)
        let (tree, settled) = try recover(folder)
        let conflict = try #require(settled.conflicts.first).path
        #expect(folder.text(of: conflict) == "edited")
        #expect(folder.text(of: "Documents/f.txt") == "new")
        #expect(folder.names(in: "tmp").isEmpty)
        try expectRowFits(tree, "Documents/f.txt")
        await tree.promoter.stop()
    }

    @Test func anExchangedEditIsKeptBesideLaterChanges() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        let old = try await before.put("Documents/f", "old")
        await before.promoter.stop()
        try await crash(folder, after: .exchanged) {
            try $0.promotion("Documents/f", "new", over: .ours(old.stamp))
        }
        let part = try #require(folder.names(in: "tmp").first)
        try folder.write("edited", to: "tmp/" + part)
        unlink(folder.path + "/Documents/f")
        try folder.write("saved after the crash", to: "Documents/f")
        let (tree, settled) = try recover(folder)
        #expect(folder.text(of: try #require(settled.conflicts.first).path) == "edited")
        #expect(folder.text(of: "Documents/f") == "saved after the crash")
        #expect(try tree.record("Documents/f")?.sha256 == old.sha256)
        await tree.promoter.stop()
    }

    @Test(arguments: PromotionStep.allCases)
    func untrackedBytesSurviveACrash(step: PromotionStep) async throws {
        let folder = try TemporaryFolder()
        try folder.write("theirs", to: "Documents/f")
        try await crash(folder, after: step) { try $0.promotion("Documents/f", "ours") }
        let (tree, _) = try recover(folder)
        #expect(files(folder).contains { folder.text(of: $0) == "theirs" })
        #expect(folder.names(in: "tmp").isEmpty)
        await tree.promoter.stop()
    }

    @Test(arguments: PromotionStep.allCases)
    func aMovedOrphanHasOneOfItsPlaces(step: PromotionStep) async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        try await before.put("Caches/old", "same")
        await before.promoter.stop()
        let source = try Target("Caches/old")
        try await crash(folder, after: step) {
            try $0.promotion("Caches/new", "same", content: .move(of: source))
        }
        let (tree, _) = try recover(folder)
        let path = try #require(files(folder).first)
        #expect(files(folder).count == 1)
        try expectRowFits(tree, path)
        let other = path == "Caches/old" ? "Caches/new" : "Caches/old"
        #expect(try tree.record(other) == nil)
        await tree.promoter.stop()
    }

    @Test func aPartNotRenamedIsContinued() async throws {
        let folder = try TemporaryFolder()
        let target = try Target("Caches/f")
        let part = PartRecord(
            name: PartRecord.freshName(for: target, identity: .anonymous), target: target,
            identity: .anonymous, total: nil,
            provenance: Provenance(source: SourceKey(text: "s"), answeredBy: "a"),
            validators: Validators())
        try await crash(folder, after: .flushedBytes) { tree in
            try TreePartStore(root: tree.root, index: tree.index).create(part)
                .write(Array("part".utf8), at: 0)
            return try tree.promotion(
                "Caches/f", "part", content: .part(part.name, tree.stamp(ofPart: part.name)))
        }
        let (tree, settled) = try recover(folder)
        #expect(settled == Recovery.Settled())
        #expect(files(folder) == ["tmp/" + part.name])
        await tree.promoter.stop()
    }

    @Test func partsAndRowsThatBelongTogetherStay() async throws {
        let tree = try PromotionTree()
        let store = TreePartStore(root: tree.root, index: tree.index)
        let target = try Target("Caches/a")
        let parts = (0..<3).map { _ in
            PartRecord(
                name: PartRecord.freshName(for: target, identity: .anonymous), target: target,
                identity: .anonymous, total: nil,
                provenance: Provenance(source: SourceKey(text: "s"), answeredBy: "a"),
                validators: Validators())
        }
        for part in parts { _ = try store.create(part) }
        unlink(tree.folder.path + "/tmp/" + parts[1].name)
        try tree.index.write { (batch: inout Database) throws(IndexError) in
            try batch.removePart(named: parts[2].name)
        }
        try tree.folder.write("theirs", to: "tmp/notes.txt")
        let settled = try Recovery.settle(tree.root, tree.index, now: PromotionTree.time)
        #expect(settled.removedFiles == 1)
        #expect(settled.removedRows == 1)
        #expect(tree.folder.names(in: "tmp") == [parts[0].name, "notes.txt"].sorted())
        await tree.promoter.stop()
    }
}
