import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

@Suite struct PromoterTests {
    @Test func aBodyInMemoryIsPromotedWithItsRow() async throws {
        let tree = try PromotionTree()
        let record = try await tree.put("Documents/a/b.txt", "hello")
        #expect(tree.folder.text(of: "Documents/a/b.txt") == "hello")
        #expect(try tree.record("Documents/a/b.txt") == record)
        #expect(try tree.look("Documents/a/b.txt") == .file(record.stamp))
        #expect(record.stamp.modified == 1_000_000_000 * 1_000_000_000)
        #expect(tree.folder.names(in: "tmp").isEmpty)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test func promotionIsReportedAfterADurableRow() async throws {
        let heard = Mutex<[String]>([])
        var probe = PromotionProbe()
        probe.goesOn = { step in
            if step == .indexed { heard.withLock { $0.append("row") } }
            return true
        }
        let tree = try PromotionTree(probe)
        let promotion = try tree.promotion("Caches/a", "hello")
        await withCheckedContinuation { continuation in
            tree.submit(promotion) { _ in
                heard.withLock { $0.append("told") }
                continuation.resume()
            }
            tree.promoter.hurry()
        }
        #expect(heard.withLock { $0 } == ["row", "told"])
        await tree.promoter.stop()
    }

    @Test func aPartIsPromotedAndItsRowGoes() async throws {
        let tree = try PromotionTree()
        let store = TreePartStore(root: tree.root, index: tree.index)
        let target = try Target("Caches/a")
        let part = PartRecord(
            name: PartRecord.freshName(for: target, identity: .anonymous), target: target,
            identity: .anonymous, total: nil,
            provenance: Provenance(source: SourceKey(text: "s"), answeredBy: "a"),
            validators: Validators())
        try store.create(part).write(Array("part".utf8), at: 0)
        let promotion = try tree.promotion(
            "Caches/a", "part", content: .part(part.name, tree.stamp(ofPart: part.name)),
            isExecutable: true)
        #expect(await tree.promote(promotion).failure == nil)
        #expect(tree.folder.text(of: "Caches/a") == "part")
        #expect(access(tree.folder.path + "/Caches/a", X_OK) == 0)
        let parts = try tree.index.read { (database: inout Database) throws(IndexError) in
            try database.parts()
        }
        #expect(parts.isEmpty)
        await tree.promoter.stop()
    }

    @Test func aPartOfAnotherSizeIsRefused() async throws {
        let tree = try PromotionTree()
        let name = PartRecord.freshName(for: try Target("Caches/a"), identity: .anonymous)
        try tree.folder.write("longer than said", to: "tmp/" + name)
        let promotion = try tree.promotion(
            "Caches/a", "short", content: .part(name, tree.stamp(ofPart: name)))
        #expect(await tree.promote(promotion).failure?.code == .sourceChanged)
        #expect(tree.folder.names(in: "tmp") == [name])
        await tree.promoter.stop()
    }

    @Test(arguments: [true, false])
    func aPartThatChangedIsReadAgain(isReplaced: Bool) async throws {
        let tree = try PromotionTree()
        let name = PartRecord.freshName(for: try Target("Caches/a"), identity: .anonymous)
        try tree.folder.write("right", to: "tmp/" + name)
        let stamp = try tree.stamp(ofPart: name)
        if isReplaced { unlink(tree.folder.path + "/tmp/" + name) }
        // Where times are coarse, a write in the same tick as the one before has the same stamp.
        repeat {
            try tree.folder.write("wrong", to: "tmp/" + name)
        } while try tree.stamp(
            ofPart: name) == stamp
        let wrong = try tree.promotion("Caches/a", "right", content: .part(name, stamp))
        #expect(await tree.promote(wrong).failure?.code == .sourceChanged)
        try tree.folder.write("right", to: "tmp/" + name)
        let right = try tree.promotion("Caches/a", "right", content: .part(name, stamp))
        #expect(await tree.promote(right).failure == nil)
        #expect(tree.folder.text(of: "Caches/a") == "right")
        await tree.promoter.stop()
    }

    @Test(arguments: ["Documents/f", "Caches/f", "tmp/f"])
    func anUpdateReplacesTheVersionThatIsOurs(path: String) async throws {
        let tree = try PromotionTree()
        let old = try await tree.put(path, "old")
        let new = try await tree.put(path, "new!", over: .ours(old.stamp))
        #expect(tree.folder.text(of: path) == "new!")
        let row = try tree.record(path)
        #expect(row == new)
        #expect(tree.folder.names().filter { !$0.hasPrefix(".mirror/") } == [path])
        await tree.promoter.stop()
    }

    @Test(arguments: ["Documents/f.txt", "Caches/f.txt"])
    func untrackedFileGetsAConflictName(path: String) async throws {
        let tree = try PromotionTree()
        try tree.folder.write("theirs", to: path)
        let result = await tree.promote(try tree.promotion(path, "ours"))
        let conflict = try #require(result.conflict)
        #expect(conflict.hasSuffix("/f.mirror-conflict-20261121T035600Z.txt"))
        #expect(tree.folder.text(of: path) == "ours")
        #expect(tree.folder.text(of: conflict) == "theirs")
        try tree.folder.write("again", to: path)
        let second = await tree.promote(try tree.promotion(path, "newer"))
        #expect(second.conflict?.hasSuffix("Z-2.txt") == true)
        await tree.promoter.stop()
    }

    @Test func untrackedFileIsKeptUnderKeepPolicy() async throws {
        let tree = try PromotionTree()
        try tree.folder.write("theirs", to: "Documents/f")
        let promotion = try tree.promotion("Documents/f", "ours", onConflict: .keep)
        #expect(await tree.promote(promotion).failure?.code == .conflict)
        #expect(tree.folder.names(in: "Documents") == ["f"])
        #expect(tree.folder.text(of: "Documents/f") == "theirs")
        #expect(tree.folder.names(in: "tmp").isEmpty)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test(arguments: ["Documents/f", "Caches/f"])
    func untrackedFileIsReplacedUnderOverwritePolicy(path: String) async throws {
        let tree = try PromotionTree()
        try tree.folder.write("theirs", to: path)
        let promotion = try tree.promotion(path, "ours", onConflict: .replace)
        #expect(await tree.promote(promotion).failure == nil)
        #expect(tree.folder.names().filter { !$0.hasPrefix(".mirror/") } == [path])
        #expect(tree.folder.text(of: path) == "ours")
        await tree.promoter.stop()
    }

    @Test func untrackedFileWithTheWantedBytesIsAdopted() async throws {
        let tree = try PromotionTree()
        try tree.folder.write("same", to: "Documents/f")
        guard case .file(let stamp) = try tree.look("Documents/f") else {
            Issue.record("not there")
            return
        }
        let record = try await tree.put("Documents/f", "same")
        #expect(record.stamp == stamp)
        #expect(tree.folder.names(in: "tmp").isEmpty)
        await tree.promoter.stop()
    }

    @Test func anEditBetweenPlanAndPromotionIsKept() async throws {
        let tree = try PromotionTree()
        let old = try await tree.put("Documents/f", "old")
        try tree.folder.write("edited", to: "Documents/f")
        let result = await tree.promote(
            try tree.promotion("Documents/f", "new", over: .ours(old.stamp)))
        #expect(tree.folder.text(of: try #require(result.conflict)) == "edited")
        #expect(tree.folder.text(of: "Documents/f") == "new")
        await tree.promoter.stop()
    }

    @Test(arguments: ["Documents/f", "Caches/f"])
    func anEditOfTheSameSizeIsKept(path: String) async throws {
        let tree = try PromotionTree()
        let old = try await tree.put(path, "old")
        try tree.folder.write("abc", to: path)
        let result = await tree.promote(try tree.promotion(path, "new", over: .ours(old.stamp)))
        #expect(tree.folder.text(of: try #require(result.conflict)) == "abc")
        #expect(tree.folder.text(of: path) == "new")
        await tree.promoter.stop()
    }

    @Test func anEditJustBeforeTheExchangeIsKept() async throws {
        let folder = try TemporaryFolder()
        let edits = Atomic<Bool>(false)
        // What the exchange brings out is changed before anybody looks at it: the same as an edit
        // that came in just before it.
        var probe = PromotionProbe()
        probe.goesOn = { step in
            guard step == .exchanged, edits.exchange(true, ordering: .relaxed) == false else {
                return true
            }
            for name in folder.names(in: "tmp") { try? folder.write("edited", to: "tmp/" + name) }
            return true
        }
        let tree = try PromotionTree(folder, probe)
        let old = try await tree.put("Documents/f", "old")
        let result = await tree.promote(
            try tree.promotion("Documents/f", "new", over: .ours(old.stamp)))
        #expect(tree.folder.text(of: try #require(result.conflict)) == "edited")
        #expect(tree.folder.text(of: "Documents/f") == "new")
        await tree.promoter.stop()
    }

    @Test func touchedFileOfOursIsStillReplaced() async throws {
        let tree = try PromotionTree()
        let old = try await tree.put("Documents/f", "old")
        utimes(tree.folder.path + "/Documents/f", nil)
        let result = await tree.promote(
            try tree.promotion("Documents/f", "new", over: .ours(old.stamp)))
        #expect(result.failure == nil)
        #expect(result.conflict == nil)
        #expect(tree.folder.names(in: "Documents") == ["f"])
        await tree.promoter.stop()
    }

    @Test func noSymbolicLinkIsFollowedOrReplaced() async throws {
        let tree = try PromotionTree()
        let outside = try TemporaryFolder()
        try outside.write("safe", to: "f")
        try tree.folder.write("", to: "Documents/x")
        symlink(outside.path, tree.folder.path + "/Documents/link")
        symlink(outside.path + "/f", tree.folder.path + "/Documents/f")
        for path in ["Documents/link/f", "Documents/f"] {
            let result = await tree.promote(try tree.promotion(path, "evil", onConflict: .replace))
            #expect(result.failure?.code == .obstructed)
        }
        #expect(outside.text(of: "f") == "safe")
        await tree.promoter.stop()
    }

    @Test func aFolderAtTheTargetIsAnObstacle() async throws {
        let tree = try PromotionTree()
        try tree.folder.write("x", to: "Caches/f/inner")
        let result = await tree.promote(try tree.promotion("Caches/f", "new"))
        #expect(result.failure?.code == .obstructed)
        #expect(tree.folder.text(of: "Caches/f/inner") == "x")
        await tree.promoter.stop()
    }

    @Test func bytesAreCopiedFromAnotherTarget() async throws {
        let tree = try PromotionTree()
        let source = try Target("Caches/a")
        try await tree.put("Caches/a", "same")
        let promotion = try tree.promotion("Documents/b", "same", content: .copy(of: source))
        #expect(await tree.promote(promotion).failure == nil)
        #expect(tree.folder.text(of: "Documents/b") == "same")
        #expect(tree.folder.text(of: "Caches/a") == "same")
        let other = try tree.promotion("Documents/c", "else", content: .copy(of: source))
        #expect(await tree.promote(other).failure?.code == .sourceChanged)
        #expect(tree.folder.names(in: "Documents") == ["b"])
        #expect(tree.folder.names(in: "tmp").isEmpty)
        await tree.promoter.stop()
    }

    @Test func anOrphanIsRenamedWithItsRow() async throws {
        let tree = try PromotionTree()
        let old = try await tree.put("Caches/a/b", "same")
        let promotion = try tree.promotion(
            "Documents/b", "same", content: .move(of: try Target("Caches/a/b")))
        #expect(await tree.promote(promotion).failure == nil)
        #expect(try tree.record("Documents/b")?.stamp.inode == old.stamp.inode)
        #expect(try tree.record("Caches/a/b") == nil)
        #expect(tree.folder.names(in: "Caches").isEmpty)
        await tree.promoter.stop()
    }

    @Test func anOrphanThatWasEditedIsNotRenamed() async throws {
        let tree = try PromotionTree()
        try await tree.put("Caches/a", "same")
        try tree.folder.write("edit", to: "Caches/a")
        let promotion = try tree.promotion(
            "Documents/b", "same", content: .move(of: try Target("Caches/a")))
        #expect(await tree.promote(promotion).failure?.code == .sourceChanged)
        #expect(tree.folder.text(of: "Caches/a") == "edit")
        #expect(tree.folder.names(in: "Documents").isEmpty)
        await tree.promoter.stop()
    }

    /// An orphan that is renamed has its old name until then, and may be edited there.
    @Test func anOrphanEditedBeforeItsRenameStays() async throws {
        let folder = try TemporaryFolder()
        let tree = try PromotionTree(
            folder,
            PromotionProbe(goesOn: { step in
                if step == .flushedBytes, folder.text(of: "Caches/a") != nil {
                    try? folder.write("edit", to: "Caches/a")
                }
                return true
            }))
        try await tree.put("Caches/a", "same")
        let promotion = try tree.promotion(
            "Documents/b", "same", content: .move(of: try Target("Caches/a")))
        #expect(await tree.promote(promotion).failure?.code == .sourceChanged)
        #expect(folder.text(of: "Caches/a") == "edit")
        #expect(folder.names(in: "Documents").isEmpty)
        await tree.promoter.stop()
    }

    @Test func aRemovalTakesTheFoldersThatItEmpties() async throws {
        let tree = try PromotionTree()
        let record = try await tree.put("Caches/a/b/c", "x")
        try await tree.put("Caches/a/d", "y")
        #expect(try await tree.remove("Caches/a/b/c", stamp: record.stamp) == nil)
        #expect(try tree.record("Caches/a/b/c") == nil)
        #expect(access(tree.folder.path + "/Caches/a/b", F_OK) != 0)
        #expect(tree.folder.text(of: "Caches/a/d") == "y")
        await tree.promoter.stop()
    }

    @Test(arguments: ["edited", "y"])
    func anEditedFileIsNotRemoved(edit: String) async throws {
        let tree = try PromotionTree()
        let record = try await tree.put("Caches/a", "x")
        try tree.folder.write(edit, to: "Caches/a")
        #expect(try await tree.remove("Caches/a", stamp: record.stamp)?.code == .conflict)
        #expect(tree.folder.text(of: "Caches/a") == edit)
        #expect(try tree.record("Caches/a") == record)
        await tree.promoter.stop()
    }

    @Test func thousandsOfSmallFilesArePromotedInBatches() async throws {
        let tree = try PromotionTree()
        let count = 3000
        let promoted = Atomic<Int>(0)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            for number in 0..<count {
                let path = "Caches/\(number % 50)/\(number)"
                guard let promotion = try? tree.promotion(path, "file \(number)") else { continue }
                tree.submit(promotion) { result in
                    #expect(result.failure == nil)
                    let sum = promoted.wrappingAdd(1, ordering: .relaxed).newValue
                    if sum == count { continuation.resume() }
                }
            }
        }
        #expect(tree.folder.names(in: "Caches").count == count)
        #expect(tree.folder.text(of: "Caches/49/2999") == "file 2999")
        #expect(tree.folder.names(in: "tmp").isEmpty)
        var cursor = try tree.index.projectionCursor(from: "")
        var rows = 0
        while try cursor.next() { rows += 1 }
        #expect(rows == count)
        await tree.promoter.stop()
    }

    /// Whoever waits for the file would wait for ever.
    @Test func worksDroppedAtTheEndAreReported() async throws {
        let (begun, goOn) = (Semaphore(), Semaphore())
        var probe = PromotionProbe()
        probe.goesOn = { step in
            if step == .staged {
                begun.post()
                goOn.wait()
            }
            return true
        }
        let tree = try PromotionTree(probe)
        let ends = Mutex<[String]>([])
        let hear = { @Sendable (name: String) in
            { @Sendable (result: PromotionResult) in
                ends.withLock {
                    $0.append("\(name) \(result.failure?.code.rawValue ?? "promoted")")
                }
            }
        }
        tree.submit(try tree.promotion("Caches/a", "a"), hear("a"))
        tree.promoter.hurry()
        begun.wait()
        tree.submit(try tree.promotion("Caches/b", "b"), hear("b"))
        tree.promoter.abandonAtStop()
        goOn.post()
        await tree.promoter.stop()
        #expect(ends.withLock { $0 } == ["a promoted", "b cancelled"])
        #expect(try tree.record("Caches/b") == nil)
    }

    @Test func worksAfterTheEndAreRefused() async throws {
        let tree = try PromotionTree()
        await tree.promoter.stop()
        #expect(await tree.promote(try tree.promotion("Caches/a", "x")).failure?.code == .cancelled)
    }
}
