import Testing

@testable import MirrorKit

/// Targets that are cancelled before the loop has them, or beside others that want the same bytes.
@Suite struct CancelledStepTests {
    @Test func aFileNotYetStartedEndsAtOnce() throws {
        var rig = try RunRig(fetching: (0..<9).map { "f\($0)" }) { $0.window = 2 }
        rig.tell(.ready)
        rig.tell(.cancel(rig.targets[7], discardingPart: false))
        #expect(rig.failed == ["f7"])
        for position in [0, 1, 2, 3, 4, 5, 6, 8] {
            try rig.receive(position)
            rig.promote(position)
        }
        #expect(rig.machine.isOver)
        #expect(rig.submitted == [0, 1, 2, 3, 4, 5, 6, 8])
        let summary = rig.summary()
        #expect(summary[.failed] == 1)
        #expect(summary[.fetched] == 8)
    }

    @Test func aFileIsCancelledBeforeTheRun() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.cancel(rig.targets[0], discardingPart: false))
        #expect(rig.failed == [])
        rig.tell(.ready)
        #expect(rig.failed == ["a"])
        #expect(rig.submitted == [1])
    }

    @Test func aWaitingFilesOldPartGoes() throws {
        let part = PartRecord(
            name: "a.part", target: try Target("Caches/a"), identity: .anonymous, total: nil,
            provenance: Provenance(
                source: SourceKey(text: "a"), answeredBy: "http://a.example/a"),
            validators: Validators())
        var plan = try RunRig(fetching: ["a"]).machine.plan
        plan.steps = StepList(
            plan.steps.map { step in
                var step = step
                step.means = .transfer(part: part, ifChangedSince: nil)
                return step
            })
        for (discards, isAnothers) in [(true, false), (false, false), (true, true)] {
            var rig = RunRig(plan)
            if !isAnothers { rig.tell(.pause(nil)) }
            rig.tell(.ready, occupied: isAnothers ? [0] : [])
            rig.tell(.cancel(rig.targets[0], discardingPart: discards))
            var discarded: [String] = []
            for case .discard(let names) in rig.asked { discarded += names }
            // The other run may be giving the part its final name.
            #expect(discarded == (discards && !isAnothers ? ["a.part"] : []))
            #expect(rig.failed == ["a"])
            #expect(rig.machine.isOver)
        }
    }

    @Test(arguments: [true, false]) func aFileHeldElsewhereEndsAtOnce(isAtomic: Bool) throws {
        var rig = try RunRig(fetching: ["a", "b"], optional: ["a"], isAtomic: isAtomic)
        rig.tell(.ready, occupied: [0])
        rig.tell(.cancel(rig.targets[0], discardingPart: false))
        #expect(rig.failed == ["a"])
        rig.tell(.joined(0, nil))
        #expect(rig.submitted == [1])
        try rig.receive(1)
        if isAtomic { rig.promoteSet() } else { rig.promote(1) }
        #expect(rig.done == ["b"])
        #expect(rig.machine.isOver)
    }

    @Test(arguments: [true, false]) func theOtherTargetsGetTheBytes(isHeld: Bool) throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one")
        if isHeld { rig.tell(.pause(nil)) }
        rig.tell(.ready)
        rig.tell(.cancel(rig.targets[0], discardingPart: true))
        #expect(rig.failed == ["a"])
        if isHeld { rig.tell(.resume(nil)) }
        #expect(rig.submitted == [0])
        #expect(rig.cancelled == [])
        rig.tell(.transfer(0, .progress(bytes: 1, size: 3, bytesPerSecond: 1)))
        #expect(rig.progress == ["b"])
        try rig.receive(0)
        for position in [1, 2] { rig.promote(position) }
        #expect(rig.done == ["b", "c"])
        #expect(rig.machine.isOver)
        let totals = rig.machine.totals
        #expect(totals.transfers == 1 && totals.ended == 1 && totals.failed == 0)
    }

    @Test func aDownloadEndsWithItsLastTarget() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.tell(.ready)
        for target in rig.targets { rig.tell(.cancel(target, discardingPart: false)) }
        #expect(rig.failed == ["a"])
        #expect(rig.cancelled == [0])
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        #expect(rig.failed == ["a", "b"])
        #expect(rig.machine.isOver)
    }

    @Test func oneThatWaitsForAnotherTargetsFileEndsAtOnce() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one")
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.cancel(rig.targets[1], discardingPart: false))
        #expect(rig.failed == ["b"])
        for position in [0, 2] { rig.promote(position) }
        #expect(rig.done == ["a", "c"])
        #expect(rig.machine.isOver)
    }

    /// Its download takes its turn with the others. The simulation found it counted twice (seed 842404).
    @Test func theOtherTargetOfAWaitingDownloadEndsOnce() throws {
        var rig = try RunRig(fetching: ["f0", "f1", "x/same", "y/same"]) { $0.window = 2 }
        rig.tell(.ready)
        rig.tell(.cancel(rig.targets[2], discardingPart: false))
        #expect(rig.submitted == [0, 1])
        for number in [0, 1] {
            rig.tell(
                .transfer(
                    number, .ended(.failed(MirrorError(.httpStatus, "404"), TransferCost()))))
        }
        #expect(rig.submitted == [0, 1, 3])
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.transfer(3, .ended(.cancelled(TransferCost(requests: 1)))))
        #expect(rig.machine.isOver)
        let outcomes = rig.summary().outcomes
        #expect(outcomes == [.failed: 3, .interrupted: 1])
    }

    @Test func oneThatSharesTheRequestEndsAlone() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one")
        rig.tell(.ready)
        rig.tell(.cancel(rig.targets[1], discardingPart: false))
        #expect(rig.failed == ["b"])
        #expect(rig.cancelled == [])
        try rig.receive(0)
        rig.promote(0)
        rig.promote(2)
        #expect(rig.done == ["a", "c"])
        #expect(rig.submitted == [0])
        #expect(rig.machine.isOver)
    }

    @Test func aSetsFilesAreCancelledWithIt() throws {
        var rig = try RunRig(fetching: ["a", "b"], isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.cancel(rig.targets[0], discardingPart: false))
        #expect(rig.failed == ["a"])
        try rig.receive(1)
        #expect(rig.promotingSets.isEmpty)
        #expect(rig.machine.isOver)
        #expect(rig.setEnds.first?.obstacle?.code == "cancelled")
        #expect(Set(rig.released) == [0, 1])
    }

    /// It gets its final name already, and ends once.
    @Test(arguments: [true, false])
    func promotedSetFilesAreNotCancelled(discards: Bool) throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one", isAtomic: true)
        rig.tell(.ready)
        try rig.receive(0)
        let asked = rig.asked.count
        #expect(rig.promotingSets.count == 1)
        for target in rig.targets { rig.tell(.cancel(target, discardingPart: discards)) }
        #expect(rig.failed == [])
        let isIdle = rig.asked.dropFirst(asked).allSatisfy {
            if case .hurry = $0 { true } else { false }
        }
        #expect(isIdle)
        #expect(!rig.machine.isOver)
        rig.promoteSet()
        #expect(Set(rig.done) == ["a", "b", "c"])
        #expect(rig.machine.isOver)
        #expect(rig.submitted == [0])
    }

    /// The run waits for the end of a removal, whoever does not want it any more.
    @Test func aRemovalIsNotCancelled() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["z"], sizes: ["a": 3])
        rig.tell(.ready)
        try rig.receive(0)
        rig.promote(0)
        #expect(rig.removing == [1])
        rig.tell(.cancel(try Target("Caches/z"), discardingPart: false))
        #expect(rig.failed == [])
        rig.tell(.removed(1, nil))
        #expect(rig.machine.isOver)
        #expect(rig.summary().removed == 1)
    }

    @Test func aCancelledConfirmationCountsAsFailed() throws {
        var rig = try RunRig(fetching: ["a"], kind: .revalidate)
        rig.tell(.ready)
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        #expect(rig.failed == ["a"])
        #expect(rig.summary()[.failed] == 1)
    }
}
