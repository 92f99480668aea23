import Testing

@testable import MirrorKit

/// All or nothing: what the machine of a run does about the steps of a set.
@Suite struct SetRunTests {
    private let gone = MirrorError(.httpStatus, "gone")
    private let lost = MirrorError(.connectionLost, "lost")

    @Test func nothingIsPromotedBeforeEveryFileIsThere() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        try rig.receive(2)
        #expect(rig.promotingSets.isEmpty)
        #expect(rig.done == [])
        #expect(rig.released == [])
        try rig.receive(1)
        #expect(rig.promotingSets.map { $0.promotions.map(\.position) } == [[0, 1, 2]])
        #expect(!rig.machine.isOver)
        rig.promoteSet()
        #expect(Set(rig.done) == ["a", "b", "c"])
        #expect(Set(rig.released) == [0, 1, 2])
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.fetched] == 3)
        #expect(summary.setsLeft == 0)
        #expect(summary.exit == 0)
        #expect(rig.setEnds.map(\.files) == [3])
    }

    @Test func noSetFileIsPromotedAlone() throws {
        var rig = try RunRig(fetching: ["a"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        #expect(!rig.asked.contains { if case .promote = $0 { true } else { false } })
        #expect(rig.promotingSets.count == 1)
    }

    @Test func theBytesOfASetOutliveTheRun() throws {
        for isAtomic in [true, false] {
            var rig = try RunRig(fetching: ["a"], isAtomic: isAtomic)
            rig.tell(.ready)
            var kept: [Bool] = []
            for case .submit(_, let keepsPart) in rig.asked { kept.append(keepsPart) }
            #expect(kept == [isAtomic])
        }
    }

    @Test(arguments: [true, false]) func oneFailureLeavesTheSet(isLasting: Bool) throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], removing: ["z"], isAtomic: true)
        rig.tell(.ready)
        rig.tell(.transfer(0, .started(source: "a", size: nil, offset: 0)))
        try rig.receive(0)
        let error = isLasting ? gone : lost
        rig.tell(.transfer(1, .ended(.failed(error, TransferCost(requests: 1)))))
        #expect(!rig.machine.isOver)
        #expect(rig.submitted == [0, 1, 2])
        rig.tell(.transfer(2, .started(source: "c", size: nil, offset: 0)))
        try rig.receive(2)
        #expect(rig.machine.isOver)
        #expect(rig.promotingSets.isEmpty)
        #expect(rig.removing == [])
        #expect(rig.failed == ["b"])
        #expect(rig.done == [])
        #expect(rig.machine.interrupted.map(\.name) == ["a", "c"])
        #expect(Set(rig.released) == [0, 1, 2])
        let summary = rig.summary()
        #expect(summary[.interrupted] == 2)
        #expect(summary[.failed] == 1)
        #expect(summary.orphans == 1)
        #expect(summary.setsLeft == 1)
        #expect(summary.exit == (isLasting ? 1 : 69))
        let end = try #require(rig.setEnds.first)
        #expect(end.way == nil)
        #expect(end.files == 2)
        #expect(end.obstacle?.code == error.code.rawValue)
    }

    @Test func anOptionalFileThatFailsHoldsNothingBack() throws {
        var rig = try RunRig(fetching: ["a", "b"], optional: ["b"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.transfer(1, .ended(.failed(gone, TransferCost(requests: 1)))))
        #expect(rig.promotingSets.map { $0.promotions.map(\.position) } == [[0]])
        rig.promoteSet()
        #expect(rig.machine.isOver)
        #expect(rig.summary().exit == 0)
    }

    @Test func orphansLeaveWithTheOldSet() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["y", "z"], isAtomic: true)
        rig.tell(.ready)
        #expect(rig.removing == [])
        try rig.receive(0)
        #expect(rig.promotingSets.first?.removals.map(\.position) == [1, 2])
        rig.promoteSet(staying: [2: MirrorError(.conflict, "edited")])
        #expect(rig.machine.isOver)
        #expect(rig.removing == [])
        let summary = rig.summary()
        #expect(summary.removed == 1)
        #expect(summary.orphans == 1)
        #expect(rig.failed == ["z"])
    }

    @Test func aBlockingOrphanIsCountedOnce() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["y", "z"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        let set = try #require(rig.promotingSets.first)
        rig.tell(.setEnded(set.number, .left([2: MirrorError(.conflict, "edited")])))
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["z"])
        let summary = rig.summary()
        #expect(summary.removed == 0)
        #expect(summary.orphans == 2)
        #expect(summary.setsLeft == 1)
        #expect(summary.exit == 1)
    }

    @Test func orphansAloneAreASetToo() throws {
        var rig = try RunRig(fetching: [], removing: ["y", "z"], isAtomic: true)
        rig.tell(.ready)
        #expect(rig.promotingSets.map { $0.removals.count } == [2])
        rig.promoteSet()
        #expect(rig.machine.isOver)
        #expect(rig.summary().removed == 2)
    }

    @Test func aDeferredFileDefersItsSet() throws {
        var rig = try RunRig(fetching: ["a", "b"], urgent: ["a"], isAtomic: true)
        rig.tell(.permission(.meteredNetwork))
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        try rig.receive(0)
        #expect(rig.machine.isOver)
        #expect(rig.promotingSets.isEmpty)
        let summary = rig.summary()
        #expect(summary[.deferred] == 2)
        #expect(summary.exit == 0)
        #expect(summary.setsLeft == 1)
        #expect(rig.setEnds.first?.obstacle?.code == "deferred")
    }

    @Test func theEndOfARunLeavesItsSets() throws {
        var rig = try RunRig(fetching: ["a", "b"], isAtomic: true) { $0.deadline = 5 }
        rig.tell(.ready)
        rig.tell(.transfer(0, .started(source: "a", size: nil, offset: 0)))
        try rig.receive(0)
        rig.time = 5000
        rig.tell(.tick)
        rig.tell(.transfer(1, .ended(.cancelled(TransferCost()))))
        #expect(rig.machine.isOver)
        #expect(rig.promotingSets.isEmpty)
        #expect(rig.machine.interrupted.map(\.name) == ["a"])
        let summary = rig.summary()
        #expect(summary[.interrupted] + summary[.skipped] == 2)
        #expect(summary.setsLeft == 1)
        #expect(rig.setEnds.first?.obstacle == .ended)
    }

    @Test func aSignalWaitsForAPromotionOfSets() throws {
        var rig = try RunRig(fetching: ["a"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.end(.interrupted(exit: 130)))
        #expect(!rig.machine.isOver)
        rig.promoteSet()
        #expect(rig.machine.isOver)
        #expect(rig.done == ["a"])
        #expect(rig.summary().exit == 130)
    }

    @Test func slowPromotionsAreLeftToLaterRuns() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["z"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.end(.interrupted(exit: 130)))
        rig.time = 500
        rig.tell(.tick)
        #expect(rig.machine.isOver)
        #expect(rig.released == [0])
        let summary = rig.summary()
        #expect(summary[.skipped] + summary[.interrupted] == 1)
        #expect(summary.orphans == 1)
    }

    @Test func whatCannotBePromotedLeavesTheOthers() throws {
        var rig = try RunRig(fetching: ["a", "b"], removing: ["z"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        try rig.receive(1)
        rig.tell(.setEnded(0, .left([1: MirrorError(.obstructed, "a folder is in the way")])))
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["b"])
        #expect(rig.done == [])
        let summary = rig.summary()
        #expect(summary[.failed] == 1)
        #expect(summary.orphans == 1)
        #expect(summary.exit == 1)
    }

    @Test func aPromotionThatStoppedIsToldAsThat() throws {
        var rig = try RunRig(fetching: ["a", "b"], removing: ["z"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        try rig.receive(1)
        rig.tell(.setEnded(0, .unfinished(MirrorError(.inputOutput, "the disk failed"))))
        #expect(rig.machine.isOver)
        #expect(rig.setEnds.first?.isUnfinished == true)
        #expect(rig.summary().exit == 74)
    }

    @Test func requestsAreSharedWithinASet() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "one", isAtomic: true)
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        try rig.receive(0)
        #expect(rig.promotingSets.map { $0.promotions.map(\.position) } == [[0, 1]])
        rig.promoteSet()
        #expect(rig.done == ["a", "b"])
        #expect(rig.machine.isOver)
    }

    /// A file that shared a request, and was fetched after all, has taken its target like the other.
    @Test func anAbandonedSetReleasesEveryFile() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "one", isAtomic: true)
        rig.tell(.ready)
        rig.tell(.transfer(0, .started(source: "a", size: nil, offset: 0)))
        let stamp = FileStamp(size: 3, modified: 1, changed: 1, inode: 1)
        rig.tell(.transfer(0, try RunRig.received(.part("a.part", stamp))))
        #expect(rig.promotingSets.map { $0.promotions.map(\.position) } == [[0, 1]])
        rig.tell(.setEnded(0, .left([1: MirrorError(.sourceChanged, "it changed")])))
        #expect(rig.submitted == [0, 1])
        rig.tell(.transfer(1, .started(source: "a", size: nil, offset: 0)))
        try rig.receive(1)
        #expect(rig.promotingSets.count == 2)
        rig.tell(.end(.interrupted(exit: 130)))
        rig.time = 500
        rig.tell(.tick)
        #expect(rig.machine.isOver)
        #expect(Set(rig.released) == [0, 1])
        #expect(rig.summary()[.interrupted] == 2)
        #expect(Set(rig.machine.interrupted.map(\.name)) == ["a", "b"])
    }

    @Test func aFailureIsSharedWithinASet() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one", isAtomic: true)
        rig.tell(.ready)
        rig.tell(.transfer(0, .ended(.failed(gone, TransferCost(requests: 1)))))
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["a", "b", "c"])
        #expect(rig.setEnds.first?.obstacles == 3)
    }

    /// More steps than may be under way at once hold their bytes.
    @Test func aLargeSetFitsThroughTheWindow() throws {
        let count = 2 * StepQueue.mostUnderWay
        let names = (0..<count).map { "f" + String($0 + 100_000) }
        var rig = try RunRig(fetching: names, isAtomic: true) { $0.window = 64 }
        rig.tell(.ready)
        for position in 0..<count { try rig.receive(position) }
        #expect(rig.promotingSets.map { $0.promotions.count } == [count])
        rig.promoteSet()
        #expect(rig.machine.isOver)
        #expect(rig.summary()[.fetched] == count)
    }

    @Test func aFileBeyondTheQuotaIsAFailure() throws {
        var rig = try RunRig(fetching: ["a"], isAtomic: true)
        var plan = rig.machine.plan
        plan.steps = StepList(
            plan.steps.map { step in
                var step = step
                step.kind = .evicted
                step.means = .nothing
                step.reason = .overQuota(of: 1, size: 2)
                return step
            })
        rig = RunRig(plan)
        rig.tell(.ready)
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["a"])
        #expect(rig.summary().exit == 1)
    }
}
