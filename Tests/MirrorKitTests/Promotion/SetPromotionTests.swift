import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorParts
@testable import MirrorStore
@testable import MirrorSystem
@testable import MirrorModel

/// Sets on a real disk: all files of the set change, or none, and nobody else's bytes are lost.
@Suite struct SetPromotionTests {
    /// The old set and the new one: a file that changes, one that stays, one that comes, one that goes.
    private static let old = ["a": "old a", "same": "same", "gone": "gone"]
    private static let new = ["a": "new a!", "same": "same", "deep/b": "new b"]

    /// How the set lies: in a folder of its own, or renamed file by file, in either area.
    enum Way: String, CaseIterable, Sendable {
        case exchange = "Caches/set"
        case exchangeInDocuments = "Documents/set"
        case rename = "Caches/plain"
        case renameInDocuments = "Documents/plain"

        var isExchange: Bool { self == .exchange || self == .exchangeInDocuments }
    }

    private struct Ground {
        let folder: TemporaryFolder
        let way: Way

        init(_ way: Way) async throws {
            folder = try TemporaryFolder()
            self.way = way
            let tree = try PromotionTree(folder)
            for (name, text) in SetPromotionTests.old { try await tree.put(path(name), text) }
            await tree.promoter.stop()
        }

        func path(_ name: String) -> String { "\(way.rawValue)/\(name)" }

        func inode(of name: String) throws -> UInt64 {
            let path = path(name)
            return try RootDirectory(opening: folder.path).openFile(path).status(path: path).stamp
                .inode
        }

        /// The names and texts in the set's folder.
        func texts() -> [String: String] {
            let prefix = way.rawValue + "/"
            var texts: [String: String] = [:]
            for name in folder.names() where name.hasPrefix(prefix) {
                texts[String(name.dropFirst(prefix.count))] = folder.text(of: name)
            }
            return texts
        }

        /// Makes a part with a row, as a transfer does.
        private func part(_ path: String, _ text: String, in tree: PromotionTree) throws -> Landing
        {
            let target = try Target(path)
            let digest = ByteHasher.digest(.sha256, of: Array(text.utf8))
            let name = PartName.fresh(for: target, identity: .digest(digest))
            let provenance = Provenance(
                source: SourceKey(text: "s"), answeredBy: "http://a.example/f")
            try tree.index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(
                    PartRecord(
                        name: name, target: target, identity: .digest(digest), total: nil,
                        provenance: provenance, validators: Validators()))
            }
            try folder.write(Array(text.utf8), to: "tmp/" + name)
            var expected = Landing.ExpectedFile.nothing
            if let row = try tree.record(path) { expected = .ours(row.stamp) }
            return try tree.landing(
                path, text, content: .part(name, try tree.stamp(ofPart: name)), over: expected)
        }

        /// The promotion of the new set, on a tree.
        func set(_ tree: PromotionTree) throws -> SetLanding {
            let names = ["a", "deep/b"]
            let landings = try names.enumerated().map { position, name in
                SetLanding.Member(
                    position, try part(path(name), SetPromotionTests.new[name] ?? "", in: tree))
            }
            let gone = Removal(
                target: try Target(path("gone")), stamp: try tree.record(path("gone"))?.stamp)
            return SetLanding(
                number: 0,
                set: .init(owners: ["m"], folder: way.isExchange ? way.rawValue : nil),
                landings: landings, removals: [.init(2, gone)])
        }

        /// Promotes the new set, with what a test wants to happen.
        func promote(
            _ probe: PromotionProbe = PromotionProbe(),
            before: (SetLanding) throws -> Void = { _ in }
        ) async throws -> SetResult {
            let tree = try PromotionTree(folder, probe)
            let set = try set(tree)
            try before(set)
            let result = await withCheckedContinuation { continuation in
                let listener = PromotionListener { ends in
                    for case .set(_, let result) in ends.map(\.result) {
                        continuation.resume(returning: result)
                    }
                }
                tree.promoter.submit([
                    PromotionWork(task: .landSet(set), number: 0, receiver: listener)
                ])
            }
            await tree.promoter.stop()
            try tree.index.close(now: PromotionTree.time)
            return result
        }

        /// Opens the tree as the next run does.
        func recover() throws -> (tree: PromotionTree, settled: Recovery.Settled) {
            let tree = try PromotionTree(folder)
            return (tree, try Recovery.settle(tree.root, tree.index, now: PromotionTree.time))
        }

        /// Nothing is left of a promotion, and each row is that of the file that is there.
        func expectSettled(_ tree: PromotionTree) throws {
            #expect(try tree.intents().isEmpty)
            let sets = try tree.index.read { (database: inout Database) throws(IndexError) in
                try database.sets()
            }
            #expect(sets.isEmpty)
            for name in ["a", "same", "deep/b", "gone"] {
                let read = try FileDigests.read(try Target(path(name)), in: tree.root)
                #expect(try tree.record(path(name))?.sha256 == read?.digests.first, "\(name)")
            }
        }

        var leftovers: [String] {
            folder.names().filter { !$0.hasPrefix(".mirror/") && !$0.hasPrefix(way.rawValue) }
        }
    }

    @Test(arguments: Way.allCases) func aSetIsPromotedAsAWhole(way: Way) async throws {
        let ground = try await Ground(way)
        let result = try await ground.promote()
        guard case .promoted(let landed, let stayed, let taken) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(landed.values.allSatisfy { $0.failure == nil })
        #expect(stayed.isEmpty)
        #expect(taken == (way.isExchange ? .exchange : .rename))
        #expect(ground.texts() == Self.new)
        #expect(ground.leftovers == [])
        let (tree, settled) = try ground.recover()
        #expect(settled == Recovery.Settled())
        try ground.expectSettled(tree)
        for name in ["a", "same", "deep/b"] {
            let row = try #require(try tree.record(ground.path(name)))
            #expect(try tree.look(ground.path(name)) == .file(row.stamp, sha256: nil), "\(name)")
        }
        await tree.promoter.stop()
    }

    @Test(arguments: Way.allCases, PromotionStep.allCases)
    func aCrashLeavesTheOldSetOrTheNewOne(way: Way, step: PromotionStep) async throws {
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
        #expect(settled.unfinished.isEmpty)
        try ground.expectSettled(tree)
        // Verified downloads of a set that was not promoted are kept.
        #expect(ground.leftovers.count == (isNew ? 0 : 2), "\(ground.leftovers)")
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

    @Test(arguments: Way.allCases) func whatStandsInTheWayLeavesTheOldSet(way: Way) async throws {
        let ground = try await Ground(way)
        let result = try await ground.promote { _ in
            try ground.folder.write([1], to: ground.path("deep/b/in/the/way"))
        }
        guard case .left(let causes) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(causes.mapValues(\.code) == [1: .obstructed])
        #expect(ground.texts()["a"] == "old a")
        #expect(ground.texts()["gone"] == "gone")
        let (tree, _) = try ground.recover()
        #expect(ground.leftovers.count == 2)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    @Test(arguments: Way.allCases) func anOrphanThatWasEditedLeavesTheOldSet(way: Way) async throws
    {
        let ground = try await Ground(way)
        let result = try await ground.promote { _ in
            try ground.folder.write(Array("edited".utf8), to: ground.path("gone"))
        }
        guard case .left(let causes) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(causes.mapValues(\.code) == [2: .conflict])
        #expect(ground.texts()["a"] == "old a")
        #expect(ground.texts()["gone"] == "edited")
    }

    /// Files of other people in the folder are the same files afterwards: an open one is not cut off.
    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func whatOthersPutInTheFolderStaysThere(way: Way) async throws {
        let ground = try await Ground(way)
        try ground.folder.write(Array("mine".utf8), to: ground.path("notes/mine"))
        let before = try ground.inode(of: "notes/mine")
        guard case .promoted(_, _, .exchange) = try await ground.promote() else {
            Issue.record("not exchanged")
            return
        }
        var expected = Self.new
        expected["notes/mine"] = "mine"
        #expect(ground.texts() == expected)
        #expect(try ground.inode(of: "notes/mine") == before)
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func otherBytesAtATargetGetAConflictName(way: Way) async throws {
        let ground = try await Ground(way)
        try ground.folder.write(Array("theirs".utf8), to: ground.path("deep/b"))
        guard case .promoted(let landed, _, .exchange) = try await ground.promote() else {
            Issue.record("not exchanged")
            return
        }
        let name = try #require(landed[1]?.conflict)
        #expect(ground.folder.text(of: name) == "theirs")
        #expect(ground.texts()["deep/b"] == "new b")
    }

    /// What is written into the old folder between the look and the exchange is not lost.
    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func whatComesInTheLastMomentIsGivenBack(way: Way) async throws {
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
        guard case .promoted(_, _, .exchange) = try await ground.promote(probe) else {
            Issue.record("not exchanged")
            return
        }
        #expect(ground.texts()["late/new"] == "late")
        #expect(ground.texts().values.contains("edited!"))
        #expect(ground.leftovers == [])
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func aCrashAfterTheExchangeGivesBackWhatCameInTheLastMoment(way: Way) async throws {
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

    @Test func aFolderWithALinkInItIsNotExchanged() async throws {
        let ground = try await Ground(.exchange)
        symlink("a", ground.folder.path + "/" + ground.path("link"))
        guard case .promoted(_, _, .rename) = try await ground.promote() else {
            Issue.record("not renamed")
            return
        }
        #expect(ground.texts()["a"] == "new a!")
        #expect(ground.leftovers == [])
    }

    @Test func aFolderWithAFileOfAnotherManifestIsNotExchanged() async throws {
        let ground = try await Ground(.exchange)
        let tree = try PromotionTree(ground.folder)
        var record = try await tree.put(ground.path("other"), "other")
        record.owners = Owners("n")
        try tree.index.put(record)
        await tree.promoter.stop()
        try tree.index.close(now: PromotionTree.time)
        guard case .promoted(_, _, .rename) = try await ground.promote() else {
            Issue.record("not renamed")
            return
        }
        #expect(ground.texts()["other"] == "other")
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func aFileSystemThatCannotExchangeRenames(way: Way) async throws {
        let ground = try await Ground(way)
        var probe = PromotionProbe()
        probe.allowsExchange = false
        guard case .promoted(_, _, .rename) = try await ground.promote(probe) else {
            Issue.record("not renamed")
            return
        }
        #expect(ground.texts() == Self.new)
        #expect(ground.leftovers == [])
    }

    /// A reader in the middle of a journal sees the rows of the versions that are there.
    @Test(arguments: [Way.exchange, .renameInDocuments], [PromotionStep.committed, .placed])
    func aReaderInBetweenSeesTheRowsOfWhatIsThere(way: Way, step: PromotionStep) async throws {
        let ground = try await Ground(way)
        _ = try await ground.promote(PromotionProbe(goesOn: { $0 != step }))
        let root = try RootDirectory(opening: ground.folder.path)
        let reader = try Index.openForReading(root).index
        for name in ["a", "same"] {
            let target = try Target(ground.path(name))
            let there = try FileDigests.read(target, in: root)?.digests.first
            #expect(try reader.record(for: target)?.sha256 == there, "\(name)")
        }
        var cursor = try reader.cursor()
        var paths: [String] = []
        while let record = try cursor.nextRecord() { paths.append(record.target.path) }
        #expect(paths == paths.sorted())
        #expect(paths.contains(ground.path("deep/b")) == (step == .placed))
        try reader.close(now: PromotionTree.time)
    }

    @Test func aFailedFlushBeforeTheCommitLeavesTheOldSet() async throws {
        let ground = try await Ground(.exchange)
        var probe = PromotionProbe()
        probe.flushError = { Errno(number: EIO, call: "fsync", path: "x") }
        let result = try await ground.promote(probe)
        guard case .left(let causes) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(Set(causes.values.map(\.code)) == [.inputOutput])
        #expect(ground.texts() == Self.old)
    }
}
