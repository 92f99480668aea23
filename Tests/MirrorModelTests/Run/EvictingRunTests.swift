import Testing

@testable import MirrorKit

/// A run whose plan has less room in Caches than files.
@Suite struct EvictingRunTests {
    @Test func filesGoWhenOthersHaveCome() throws {
        var rig = try RunRig(fetching: ["a"], evicting: ["b"], strangers: ["c"], sizes: ["a": 3])
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        try rig.receive(0)
        #expect(rig.removing == [])
        rig.promote(0)
        #expect(rig.removing == [1, 2])
        rig.tell(.removed(1, nil))
        rig.tell(.removed(2, nil))
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.fetched] == 1)
        #expect(summary[.evicted] == 1)
        #expect(summary.removed == 1)
        #expect(summary.resources == 2)
        #expect(summary.exit == 0)
    }

    @Test func withoutRoomOnTheDiskTheyGoFirst() throws {
        var rig = try RunRig(fetching: ["a"], evicting: ["b"], strangers: ["c"], sizes: ["a": 3])
        rig.tell(.roomIsShort)
        rig.tell(.ready)
        #expect(rig.removing == [1, 2])
        #expect(rig.submitted == [])
        rig.tell(.removed(1, nil))
        #expect(rig.submitted == [])
        rig.tell(.removed(2, nil))
        #expect(rig.submitted == [0])
        try rig.receive(0)
        rig.promote(0)
        #expect(rig.removing == [1, 2])
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.evicted] == 1)
        #expect(summary.removed == 1)
    }

    @Test func aFileStaysWhenNothingCame() throws {
        var rig = try RunRig(
            fetching: ["a", "b"], evicting: ["y", "z"], sizes: ["a": 1, "b": 1])
        rig.tell(.ready)
        rig.tell(
            .transfer(0, .ended(.failed(MirrorError(.connectFailed, "it is away"), TransferCost())))
        )
        try rig.receive(1)
        rig.promote(1)
        #expect(rig.removing == [3])
        rig.tell(.removed(3, nil))
        let summary = rig.summary()
        #expect(summary[.kept] == 1)
        #expect(summary[.evicted] == 1)
        #expect(summary[.failed] == 1)
        #expect(summary.resources == 4)
    }

    /// The transfers before may have taken hours.
    @Test func aMissingFileFreesNoRoom() throws {
        var rig = try RunRig(fetching: ["a"], evicting: ["z"], sizes: ["a": 1])
        rig.surroundings.lost = ["z"]
        rig.tell(.ready)
        rig.tell(
            .transfer(0, .ended(.failed(MirrorError(.connectFailed, "it is away"), TransferCost())))
        )
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["a", "z"])
        let summary = rig.summary()
        #expect(summary[.kept] == 0)
        #expect(summary[.failed] == 2)
        #expect(summary.resources == 2)
    }

    @Test func anInterruptedRunEvictsNothingMore() throws {
        var rig = try RunRig(
            fetching: ["a"], evicting: ["b"], strangers: ["c"], removing: ["z"], sizes: ["a": 3])
        rig.tell(.ready)
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost()))))
        #expect(rig.machine.isOver)
        #expect(rig.removing == [])
        let summary = rig.summary()
        #expect(summary[.skipped] == 2)
        #expect(summary[.evicted] == 0)
        #expect(summary.orphans == 1)
        #expect(summary.resources == 2)
    }

    @Test func aRunInterruptedWhileEvictingAddsUp() throws {
        var rig = try RunRig(
            fetching: ["a"], evicting: ["b", "c"], removing: ["z"], sizes: ["a": 3])
        rig.tell(.roomIsShort)
        rig.tell(.ready)
        rig.tell(.removed(1, nil))
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.removed(2, nil))
        #expect(rig.machine.isOver)
        #expect(rig.submitted == [])
        let summary = rig.summary()
        #expect(summary[.evicted] == 2)
        #expect(summary[.skipped] == 1)
        #expect(summary.orphans == 1)
    }

    @Test func aFileThatCannotGoIsAFailure() throws {
        var rig = try RunRig(fetching: [], evicting: ["b"], strangers: ["c"])
        rig.tell(.ready)
        rig.tell(.removed(0, MirrorError(.conflict, "it is being read")))
        rig.tell(.removed(1, MirrorError(.conflict, "it is being read")))
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.failed] == 1)
        #expect(summary.removed == 0)
        #expect(summary.orphans == 0)
        #expect(summary.exit == 1)
    }
}
