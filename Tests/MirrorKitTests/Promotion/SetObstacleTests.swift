import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// What comes between the commit of a set and its end is told, and nothing is given up.
@Suite struct SetObstacleTests {
    typealias Way = SetGround.Way

    /// Does something once, at a step.
    private static func at(
        _ step: PromotionStep, stoppingAt last: PromotionStep? = nil,
        _ body: @escaping @Sendable () -> Void
    ) -> PromotionProbe {
        PromotionProbe(goesOn: { reached in
            if reached == step { body() }
            return reached != last
        })
    }

    // MARK: Folders that may not be written

    @Test func aStayingReadOnlyFolderIsNoObstacle() async throws {
        let ground = try await SetGround(.exchange)
        mkdir(ground.folder.path + "/" + ground.path("locked"), 0o555)
        let result = try await ground.promote(asOwner: true)
        #expect(result.promoted?.way == .rename, "\(result)")
        #expect(ground.texts() == SetGround.new)
        #expect(ground.leftovers == [])
        #expect(try ground.mode(of: "locked") == 0o555)
    }

    @Test(arguments: Way.allCases) func readOnlyTargetFoldersLeaveTheOldSet(
        way: Way
    ) async throws {
        let ground = try await SetGround(way)
        let folder = ground.folder.path + "/" + way.rawValue
        let result = try await ground.promote(asOwner: true) { _ in
            mkdir(folder + "/deep", 0o755)
            chmod(folder, 0o555)
        }
        chmod(folder, 0o755)
        let causes = try #require(result.causes, "\(result)")
        #expect(!causes.isEmpty && causes.values.allSatisfy { $0.message.contains("Permission") })
        #expect(ground.texts() == SetGround.old)
        #expect(try await ground.recovered().finishedSets.isEmpty)
        #expect(ground.texts() == SetGround.old)
    }

    // MARK: Renames that fail after the commit

    enum Obstacle: String, CaseIterable, Sendable {
        case folderAtTheTarget, fileAtAFolder, linkAtAFolder, readOnlyFolder

        func put(in ground: SetGround) {
            let (root, deep) = (ground.folder.path + "/", ground.path("deep"))
            switch self {
            case .folderAtTheTarget:
                try? ground.folder.write("x", to: deep + "/b/in/the/way")
            case .fileAtAFolder:
                rmdir(root + deep)
                try? ground.folder.write("x", to: deep)
            case .linkAtAFolder:
                rmdir(root + deep)
                symlink("/tmp", root + deep)
            case .readOnlyFolder: chmod(root + deep, 0o555)
            }
        }

        func remove(from ground: SetGround) {
            let (root, deep) = (ground.folder.path + "/", ground.path("deep"))
            switch self {
            case .folderAtTheTarget: rename(root + deep + "/b", root + "moved")
            case .fileAtAFolder, .linkAtAFolder: unlink(root + deep)
            case .readOnlyFolder: chmod(root + deep, 0o755)
            }
        }
    }

    @Test(arguments: [Way.rename, .renameInDocuments], Obstacle.allCases)
    func obstaclesAfterTheCommitKeepTheJournal(
        way: Way, obstacle: Obstacle
    ) async throws {
        let ground = try await SetGround(way)
        let result = try await ground.promote(
            Self.at(.committed) { obstacle.put(in: ground) }, asOwner: true)
        let error = try #require(result.stopped, "\(result)")
        #expect(error.code == .inputOutput)
        #expect(error.message.contains(ground.path("deep")), "\(error.message)")
        #expect(error.message.contains("The next run goes on with it"), "\(error.message)")
        // Nothing was given up: the orphan goes after the last file.
        #expect(ground.texts()["gone"] == "gone")
        for _ in 1...2 {
            let settled = try await ground.recovered(asOwner: true)
            let set = try #require(settled.unfinishedSets.first)
            #expect(set.cause.message.contains(ground.path("deep")), "\(set.cause.message)")
            #expect(set.contains(try Target(ground.path("a"))))
            #expect(!set.contains(try Target("Caches/other")))
            #expect(settled.lost.isEmpty)
        }
        obstacle.remove(from: ground)
        let settled = try await ground.recovered(asOwner: true)
        #expect(settled.finishedSets == [Owners("m")])
        #expect(settled.lost.isEmpty)
        #expect(ground.texts() == SetGround.new)
    }

    /// An unfinished set holds up what it is about, and nothing else.
    @Test func theRestOfTheTreeGoesOn() async throws {
        let ground = try await SetGround(.rename)
        _ = try await ground.promote(
            Self.at(.committed, stoppingAt: .committed) {
                Obstacle.folderAtTheTarget.put(in: ground)
            })
        let tree = try PromotionTree(ground.folder)
        let settled = try Recovery.settle(tree.root, tree.index, now: PromotionTree.time)
        await tree.promoter.stop()
        try tree.index.close()
        let next = try PromotionTree(ground.folder, unfinished: settled.unfinishedSets)
        try await next.put("Caches/other", "other")
        let refused = await next.promote(try next.promotion(ground.path("a"), "third")).failure
        #expect(refused == settled.unfinishedSets.first?.cause)
        #expect(try await next.remove(ground.path("gone"), stamp: nil) == refused)
        await next.promoter.stop()
        try next.index.close()
        Obstacle.folderAtTheTarget.remove(from: ground)
        #expect(try await ground.recovered().finishedSets == [Owners("m")])
        #expect(ground.texts() == SetGround.new)
    }

    @Test(arguments: [false, true])
    func anUnfinishedSetKeepsItsManifestRemembered(deleting: Bool) async throws {
        let ground = try await SetGround(.rename)
        _ = try await ground.promote(
            Self.at(.committed, stoppingAt: .committed) {
                Obstacle.folderAtTheTarget.put(in: ground)
            })
        let session = try MirrorSession(root: ground.folder.path)
        let error = await #expect(throws: MirrorError.self) {
            try await session.manifests.forget("m", deleting: deleting)
        }
        #expect(error?.code == .obstructed)
        #expect(error?.message.contains("run again then") == true, "\(String(describing: error))")
        Obstacle.folderAtTheTarget.remove(from: ground)
        let report = try await session.manifests.forget("m", deleting: deleting)
        #expect(report.removed.count == (deleting ? SetGround.new.count : 0))
        #expect(ground.texts() == (deleting ? [:] : SetGround.new))
    }

    /// The parts of a committed set were on the disk before the commit.
    @Test func aLaterFailedFlushLeavesTheSetsParts() async throws {
        let ground = try await SetGround(.rename)
        _ = try await ground.promote(
            Self.at(.committed, stoppingAt: .committed) {
                Obstacle.folderAtTheTarget.put(in: ground)
            })
        var probe = PromotionProbe()
        probe.flushError = { Errno(number: EIO, call: "fsync", path: "x") }
        let tree = try PromotionTree(ground.folder, probe)
        _ = try Recovery.settle(tree.root, tree.index, now: PromotionTree.time)
        #expect(await tree.promote(try tree.promotion("Caches/other", "x")).failure != nil)
        await tree.promoter.stop()
        try tree.index.close()
        Obstacle.folderAtTheTarget.remove(from: ground)
        #expect(try await ground.recovered().lost == [])
        #expect(ground.texts() == SetGround.new)
    }

    // MARK: Other things at the folder's name

    @Test(
        arguments: [Way.exchange, .exchangeInDocuments],
        [(false, false), (true, false), (false, true), (true, true)])
    func whatIsNoFolderIsNotExchanged(way: Way, _ kind: (isLink: Bool, crashes: Bool)) async throws
    {
        let (isLink, crashes) = kind
        let ground = try await SetGround(way)
        let root = ground.folder.path + "/"
        let probe = Self.at(.committed, stoppingAt: crashes ? .committed : nil) {
            rename(root + way.rawValue, root + "moved")
            if isLink {
                symlink("/tmp", root + way.rawValue)
            } else {
                try? ground.folder.write("mine", to: way.rawValue)
            }
        }
        let result = try await ground.promote(probe)
        if !crashes { #expect(result.stopped != nil, "\(result)") }
        let settled = try await ground.recovered()
        let set = try #require(settled.unfinishedSets.first)
        #expect(set.cause.message.contains(way.rawValue + ":"), "\(set.cause.message)")
        if isLink {
            #expect(unlink(root + way.rawValue) == 0)
        } else {
            #expect(ground.folder.text(of: way.rawValue) == "mine")
            #expect(unlink(root + way.rawValue) == 0)
        }
        #expect(try await ground.recovered().lost == [])
        #expect(ground.texts()["a"] == "new a!")
        #expect(ground.texts()["deep/b"] == "new b")
        #expect(ground.folder.text(of: "moved/same") == "same")
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments], [false, true])
    func aRemovedFolderBecomesTheNewOne(way: Way, crashes: Bool) async throws {
        let ground = try await SetGround(way)
        let root = ground.folder.path + "/"
        _ = try await ground.promote(
            Self.at(.committed, stoppingAt: crashes ? .committed : nil) {
                rename(root + way.rawValue, root + "moved")
            })
        _ = try await ground.recovered()
        #expect(ground.texts() == SetGround.new)
    }

    // MARK: Edits meanwhile

    @Test(arguments: Way.allCases)
    func anOrphanThatIsEditedMeanwhileIsKept(way: Way) async throws {
        let ground = try await SetGround(way)
        let path = ground.path("gone")
        let result = try await ground.promote(
            Self.at(.intended) { try? ground.folder.write("edited", to: path) })
        let promoted = try #require(result.promoted, "\(result)")
        #expect(promoted.stayed.mapValues(\.code) == [2: .conflict])
        var expected = SetGround.new
        expected["gone"] = "edited"
        #expect(ground.texts() == expected)
    }

    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func orphanEditsBeforeTheBuildSurviveCrashes(way: Way) async throws {
        let ground = try await SetGround(way)
        let path = ground.path("gone")
        _ = try await ground.promote(
            Self.at(.intended, stoppingAt: .committed) {
                try? ground.folder.write("edited", to: path)
            })
        let (tree, settled) = try ground.recover()
        #expect(settled.finishedSets == [Owners("m")])
        var expected = SetGround.new
        expected["gone"] = "edited"
        #expect(ground.texts() == expected)
        #expect(ground.leftovers == [])
        await tree.promoter.stop()
    }

    /// An editor replaces a file, in the moment between the look and the exchange.
    @Test(
        arguments: [(Way.exchange, "a"), (.exchange, "same"), (.exchangeInDocuments, "a")],
        [nil, PromotionStep.exchangedFolder])
    func aSaveInTheLastMomentIsKeptAndTold(
        set: (way: Way, name: String), crash: PromotionStep?
    ) async throws {
        let (way, name) = set
        let ground = try await SetGround(way)
        let (root, path) = (ground.folder.path + "/", ground.path(name))
        let result = try await ground.promote(
            Self.at(.committed, stoppingAt: crash) {
                try? ground.folder.write("saved!", to: "saved")
                rename(root + "saved", root + path)
            })
        let (tree, settled) = try ground.recover()
        let kept = (result.promoted?.kept ?? []) + settled.kept
        #expect(kept.map { ground.folder.text(of: $0) } == ["saved!"])
        for (name, text) in SetGround.new { #expect(ground.texts()[name] == text, "\(name)") }
        #expect(ground.leftovers == [])
        await tree.promoter.stop()
    }

    /// Two programs replace a file that stays, one before the exchange and one after it.
    @Test(arguments: [Way.exchange, .exchangeInDocuments])
    func twoSavesAreBothKeptAndTold(way: Way) async throws {
        let ground = try await SetGround(way)
        let (root, path) = (ground.folder.path + "/", ground.path("same"))
        let probe = PromotionProbe(goesOn: { step in
            guard step == .committed || step == .exchangedFolder else { return true }
            try? ground.folder.write("\(step)", to: "saved")
            rename(root + "saved", root + path)
            return true
        })
        let promoted = try #require(try await ground.promote(probe).promoted)
        #expect(ground.texts()["same"] == "exchangedFolder")
        #expect(promoted.kept.count == 1)
        #expect(ground.folder.text(of: promoted.kept.first ?? "") == "committed")
    }

    /// A file in a folder whose name a file of the set has now is kept in tmp, and that is told.
    @Test func aFileWithoutAPlaceIsKept() async throws {
        let ground = try await SetGround(.exchange)
        let (root, path) = (ground.folder.path + "/", ground.path("a"))
        let promoted = try #require(
            try await ground.promote(
                Self.at(.committed) {
                    unlink(root + path)
                    try? ground.folder.write("mine", to: path + "/mine")
                }
            ).promoted)
        #expect(ground.texts() == SetGround.new)
        #expect(promoted.kept.count == 1)
        #expect(ground.folder.text(of: promoted.kept.first ?? "") == "mine")
    }

    // MARK: Flushes and limits

    @Test func aFailedFolderFlushIsFinal() async throws {
        let ground = try await SetGround(.exchange)
        let flushes = Atomic<Int>(0)
        var probe = PromotionProbe()
        probe.flushError = {
            let count = flushes.wrappingAdd(1, ordering: .relaxed).newValue
            return count == 1 ? Errno(number: EIO, call: "fsync", path: "folder") : nil
        }
        let result = try await ground.promote(probe)
        let causes = try #require(result.causes, "\(result)")
        #expect(Set(causes.values.map(\.code)) == [.inputOutput])
        #expect(ground.texts() == SetGround.old)
        #expect(flushes.load(ordering: .relaxed) == 1)
    }

    /// A run that may open few files finishes a set of many.
    @Test(arguments: ["Caches/many", "Documents/many"])
    func aLargeSetIsRecoveredWithFewDescriptors(folder: String) async throws {
        let ground = try await SetGround(.rename)
        let names = (0..<300).map { "\(folder)/\($0 % 7)/\($0)" }
        try await ground.promoteMany(names, PromotionProbe(goesOn: { $0 != .committed }))
        try ground.folder.write(#"{"name":"n","resources":[]}"#, to: "n.json")
        let result = try await DetachedThread.run {
            try Command(
                "/bin/sh",
                [
                    "-c", "ulimit -n 64; exec \"$0\" sync --root \"$1\" \"$1/n.json\"",
                    BuiltProgram.path(of: "mirror"), ground.folder.path,
                ]
            ).wait(seconds: 60)
        }
        #expect(result.ending == .exited(0), "\(result)")
        #expect(names.allSatisfy { ground.folder.text(of: $0) == $0 })
    }
}
