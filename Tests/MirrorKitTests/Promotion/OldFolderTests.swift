import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorStore
@testable import MirrorSystem
@testable import MirrorModel

/// What other programs do to a set's folder while mirror exchanges it for a new one.
@Suite struct OldFolderTests {
    typealias Ground = SetGround
    typealias Way = SetGround.Way

    /// Settles an old folder that holds one superseded file; `meanwhile` happens after it was listed.
    private func settle(
        in folder: TemporaryFolder, meanwhile: @escaping () throws -> Void
    ) throws -> OldFolder.Contents {
        try folder.write(Array("old".utf8), to: "tmp/out/a")
        try folder.write(Array("new".utf8), to: "Caches/set/a")
        let root = try RootDirectory(opening: folder.path)
        let old = OldFolder(root: root, now: PromotionTree.time) { path, _, _ in
            guard path == "Caches/set/a" else { return false }
            try meanwhile()
            return true
        } isReplaced: { _, _, _ in
            false
        }
        return try old.settle("tmp/out", beside: "Caches/set")
    }

    /// A program that has the folder open writes into it beneath its new name.
    @Test func aFileThatComesWhileTheOldFolderIsEmptiedGetsItsName() throws {
        let folder = try TemporaryFolder()
        let contents = try settle(in: folder) {
            try folder.write(Array("late".utf8), to: "tmp/out/late")
            try folder.write(Array("deep".utf8), to: "tmp/out/notes/late")
        }
        #expect(folder.text(of: "Caches/set/late") == "late")
        #expect(folder.text(of: "Caches/set/notes/late") == "deep")
        #expect(folder.text(of: "Caches/set/a") == "new")
        #expect(folder.names().filter { $0.hasPrefix("tmp/") } == [])
        #expect(contents.kept.isEmpty)
    }

    @Test func anOldFolderThatCannotBeEmptiedIsTold() throws {
        let folder = try TemporaryFolder()
        let contents = try settle(in: folder) {
            // Its name is not UTF-8, and mirror cannot write it.
            let file = Glibc.open(folder.path + "/tmp/out/\u{1}", O_CREAT | O_WRONLY, 0o644)
            Glibc.close(file)
            var name = Array((folder.path + "/tmp/out/").utf8CString.dropLast())
            name += [CChar(bitPattern: 0xFF), 0]
            #expect(Glibc.rename(folder.path + "/tmp/out/\u{1}", name) == 0)
        }
        #expect(contents.kept.map(\.place) == ["tmp/out"])
    }

    /// Editors write beside a file and rename over it; the first name may be in the new folder already.
    @Test(arguments: [Way.exchange, .exchangeInDocuments], ["mine", "same", "fresh"])
    func aSaveByRenameBeforeTheExchangeIsKept(way: Way, name: String) async throws {
        let ground = try await Ground(way)
        let folder = ground.folder
        let (scratch, saved) = (ground.path("\(name).swp"), ground.path(name))
        if name == "mine" { try folder.write(Array("before".utf8), to: saved) }
        try folder.write(Array("saved".utf8), to: scratch)
        let probe = PromotionProbe(goesOn: { step in
            if step == .committed {
                rename(folder.path + "/" + scratch, folder.path + "/" + saved)
            }
            return true
        })
        #expect(try await ground.promote(probe).promoted?.way == .exchange)
        var expected = SetGround.new
        expected[name] = "saved"
        #expect(ground.texts() == expected)
        #expect(ground.leftovers == [])
    }

    /// An editor's scratch file is gone in the next moment.
    @Test func filesThatComeAndGoDoNotPreventTheExchange() async throws {
        // Each round meets the moment that matters with some probability only.
        for round in 1...12 {
            let ground = try await Ground(.exchange)
            let place = ground.folder.path + "/" + ground.path("scratch")
            for number in 0..<50 { try ground.folder.write([1], to: ground.path("notes\(number)")) }
            let isUnderWay = Atomic(false)
            let isOver = Atomic(false)
            async let writer: Void = Offload.run {
                while !isOver.load(ordering: .relaxed) {
                    close(open(place, O_CREAT | O_WRONLY, 0o644))
                    unlink(place)
                    isUnderWay.store(true, ordering: .relaxed)
                }
            }
            while !isUnderWay.load(ordering: .relaxed) { await Task.yield() }
            let probe = PromotionProbe(goesOn: { step in
                if step == .builtAside { isOver.store(true, ordering: .relaxed) }
                return true
            })
            let result = try await ground.promote(probe)
            isOver.store(true, ordering: .relaxed)
            try await writer
            #expect(result.promoted?.way == .exchange, "round \(round)")
            for (name, text) in SetGround.new { #expect(ground.texts()[name] == text) }
        }
    }

    /// The new folder is made of the folders that are there, so one that is gone would leave files out.
    @Test func aFolderThatGoesBeforeTheNewOneIsBuiltLeavesNoFileOut() async throws {
        let ground = try await Ground(.exchange)
        let deep = ground.folder.path + "/" + ground.path("deep")
        let probe = PromotionProbe(goesOn: { step in
            if step == .intended { rmdir(deep) }
            return true
        })
        #expect(try await ground.promote(probe).promoted?.way == .rename)
        #expect(ground.texts() == SetGround.new)
        #expect(ground.leftovers == [])
    }
}
