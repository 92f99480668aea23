import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

@Suite struct FailingDiskTests {
    @Test func afterAFailedFlushAllPromotionsFail() async throws {
        let flushes = Atomic<Int>(0)
        var probe = PromotionProbe()
        probe.flushError = {
            let count = flushes.wrappingAdd(1, ordering: .relaxed).newValue
            return count == 1 ? Errno(number: EIO, call: "syncfs", path: "disk") : nil
        }
        let tree = try PromotionTree(try TemporaryFolder(), probe)
        let first = await tree.promote(try tree.promotion("Caches/a", "x")).failure
        #expect(first?.code == .inputOutput)
        let second = await tree.promote(try tree.promotion("Caches/b", "x")).failure
        #expect(second == first)
        #expect(flushes.load(ordering: .relaxed) == 1)
        #expect(tree.folder.names(in: "Caches").isEmpty)
        // What only the page cache holds must not be found sound by the next run.
        #expect(tree.folder.names(in: "tmp").isEmpty)
        await tree.promoter.stop()
    }

    /// Bytes of parts wait for the disk like all others, and look sound in memory.
    @Test(arguments: [EIO, ENOSPC])
    func afterAFailedFlushNoPartIsTrusted(number: Int32) async throws {
        var probe = PromotionProbe()
        probe.flushError = { Errno(number: number, call: "syncfs", path: "disk") }
        let tree = try PromotionTree(try TemporaryFolder(), probe)
        let name = PartRecord.freshName(for: try Target("Caches/other"), identity: .anonymous)
        try tree.folder.write("part", to: "tmp/" + name)
        try tree.folder.write("no part", to: "tmp/kept.txt")
        let failure = await tree.promote(try tree.promotion("Caches/a", "x")).failure
        #expect(failure?.code == (number == EIO ? .inputOutput : .noSpace))
        // A full disk says nothing of what it has taken.
        let kept = number == EIO ? ["kept.txt"] : [name, "kept.txt"].sorted()
        #expect(tree.folder.names(in: "tmp").filter { $0 == name || $0 == "kept.txt" } == kept)
        await tree.promoter.stop()
    }

    /// Another process has flushed its own parts, or will find that it cannot.
    @Test func afterAFailedFlushPartsOfOtherShardsStay() async throws {
        var probe = PromotionProbe()
        probe.flushError = { Errno(number: EIO, call: "syncfs", path: "disk") }
        let shards = try [Shard("1/2"), Shard("2/2")]
        let tree = try PromotionTree(try TemporaryFolder(), probe, shard: shards[0])
        let names = try shards.map {
            PartRecord.freshName(
                for: try Target("Caches/other"), identity: .anonymous, tag: $0.tag)
        }
        for name in names { try tree.folder.write("part", to: "tmp/" + name) }
        let failure = await tree.promote(try tree.promotion("Caches/a", "x")).failure
        #expect(failure?.code == .inputOutput)
        #expect(tree.folder.names(in: "tmp") == [names[1]])
        await tree.promoter.stop()
    }

    @Test(.enabled(if: SmallFileSystem.isPossible))
    func aFullDiskFailsOnlyOnePromotion() async throws {
        let disk = try SmallFileSystem(bytes: 2 << 20)
        let tree = try PromotionTree(in: disk.folder.path)
        try await tree.put("Caches/a", "small")
        let large = String(repeating: "x", count: 4 << 20)
        #expect(await tree.promote(try tree.promotion("Caches/b", large)).failure?.code == .noSpace)
        #expect(tree.folder.names(in: "Caches") == ["a"])
        #expect(tree.folder.names(in: "tmp").isEmpty)
        try await tree.put("Caches/c", "small")
        await tree.promoter.stop()
        try tree.index.close()
    }

    @Test(.enabled(if: SmallFileSystem.isPossible), arguments: ["Documents/f", "Caches/f"])
    func partsFromAnotherFileSystemAreCopied(path: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "tmp/x")
        unlink(folder.path + "/tmp/x")
        let disk = try SmallFileSystem(bytes: 2 << 20, at: folder.path + "/tmp")
        let tree = try PromotionTree(folder)
        let old = try await tree.put(path, "old")
        let name = PartRecord.freshName(for: try Target(path), identity: .anonymous)
        try folder.write("newer", to: "tmp/" + name)
        let promotion = try tree.promotion(
            path, "newer", content: .part(name, tree.stamp(ofPart: name)), over: .ours(old.stamp))
        #expect(await tree.promote(promotion).failure == nil)
        #expect(folder.text(of: path) == "newer")
        #expect(folder.names().filter { !$0.hasPrefix(".mirror/") } == [path])
        let hidden = try tree.index.read { (database: inout Database) throws(IndexError) in
            try database.hiddenFiles()
        }
        #expect(hidden.isEmpty)
        let wrong = PartRecord.freshName(for: try Target(path), identity: .anonymous)
        try folder.write("wrong", to: "tmp/" + wrong)
        let refused = try tree.promotion(
            path, "other", content: .part(wrong, tree.stamp(ofPart: wrong)), over: .ours(old.stamp))
        #expect(await tree.promote(refused).failure?.code == .sourceChanged)
        await tree.promoter.stop()
        withExtendedLifetime(disk) {}
    }

    @Test(.enabled(if: SmallFileSystem.isPossible))
    func freeSpaceCountsEachFileSystemOnce() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "Caches/x")
        unlink(folder.path + "/Caches/x")
        let disk = try SmallFileSystem(bytes: 2 << 20, at: folder.path + "/Caches")
        let volumes = try Volume.all(of: try RootDirectory(opening: folder.path))
        func volume(of area: Area) -> Volume? { volumes.first { $0.areas.contains(area) } }
        #expect(volumes.count == 2)
        #expect(volume(of: .documents)?.place == "")
        #expect(volume(of: .tmp)?.place == "")
        #expect(volume(of: .caches)?.availableBytes == 2 << 20)
        withExtendedLifetime(disk) {}
    }

    @Test func aHiddenFileWithoutAnIntentIsRemoved() async throws {
        let tree = try PromotionTree()
        let path = "Caches/a/" + (try Target("Caches/a/f").freshHiddenName())
        try tree.folder.write("half", to: path)
        try tree.folder.write("theirs", to: "Caches/a/.f.mirror-notes")
        try tree.index.write { (batch: inout Database) throws(IndexError) in
            try batch.noteHiddenFile(path)
        }
        let settled = try Recovery.settle(tree.root, tree.index, now: PromotionTree.time)
        #expect(settled.removedFiles == 1)
        #expect(tree.folder.names(in: "Caches/a") == [".f.mirror-notes"])
        await tree.promoter.stop()
    }
}
