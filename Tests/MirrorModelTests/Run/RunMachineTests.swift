import Testing

@testable import MirrorKit

@Suite struct RunMachineTests {
    @Test func aFileIsDoneOnlyWhenPromoted() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        try rig.receive(0)
        #expect(rig.done == [])
        #expect(rig.released == [])
        rig.promote(0)
        #expect(rig.done == ["a"])
        #expect(rig.released == [0])
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.fetched] == 1)
        #expect(summary.requests == 1)
        #expect(summary.exit == 0)
    }

    /// Connections are made for them while the others are prepared.
    @Test func aFewTransfersGoAheadOfTheOthers() throws {
        let rig = try RunRig(fetching: (0..<80).map { "f\($0)" })
        // One belongs to another run, and another is blocked.
        rig.surroundings.occupied = [30]
        rig.surroundings.blocked = [31]
        let moment = RunMoment(elapsed: 0, time: Instant(seconds: 0))
        rig.machine.take(.ready, at: moment)
        #expect(rig.submitted == Array(0..<30))
        #expect(rig.failed == ["f31"])
        #expect(rig.machine.wait == 0)
        rig.machine.take(.tick, at: moment)
        #expect(rig.submitted == Array(0..<30) + Array(32..<80))
        #expect(rig.machine.wait == nil)
    }

    private func keeping(
        _ names: [String], _ change: (inout RunRules) -> Void = { _ in }
    ) throws -> RunRig {
        var rules = RunRules()
        change(&rules)
        let sha256 = try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32)))
        var resources: [Resource] = []
        for name in names {
            var resource = Resource(
                target: try Target("Caches/" + name), url: try SourceURL("http://a.example/a"))
            resource.digests = [sha256]
            resources.append(resource)
        }
        let steps = resources.enumerated().map { number, resource in
            Step(
                target: resource.target, manifest: 0, resource: number, kind: .keep,
                reason: .intact, means: .nothing, existing: .recorded(sha256: sha256), size: nil)
        }
        return RunRig(
            Plan(
                root: "/r", manifests: [Manifest(name: "m", resources: resources)], steps: steps,
                now: Instant(seconds: 0), orphansLeft: 0), rules: rules)
    }

    @Test func filesOfTheSummaryAreLookedAtLast() throws {
        var rig = try keeping(["a", "b"]) { $0.looksAtKeptLast = true }
        rig.tell(.ready)
        #expect(rig.machine.awaitsLook)
        #expect(!rig.machine.isOver)
        rig.tell(.changed(0, .changedSincePlan(rig.targets[0], isGone: true)))
        rig.tell(.lookedAtKept(.max))
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["a"])
        let summary = rig.summary()
        #expect(summary[.kept] == 1)
        #expect(summary[.failed] == 1)
        #expect(summary.exit == 69)
    }

    @Test func aSignalEndsTheLastLookAtOnce() throws {
        var rig = try keeping(["a", "b"]) { $0.looksAtKeptLast = true }
        rig.tell(.ready)
        rig.tell(.end(.interrupted(exit: 130)))
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.kept] == 2)
        #expect(summary.exit == 130)
    }

    @Test func aChangedFileFailsAndIsNotKept() throws {
        var rig = try keeping(["a", "b", "c"])
        rig.tell(.changed(1, .changedSincePlan(rig.targets[1], isGone: true)))
        rig.tell(.ready)
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["b"])
        let summary = rig.summary()
        #expect(summary[.kept] == 2)
        #expect(summary[.failed] == 1)
        #expect(summary.resources == 3)
        #expect(summary.exit == 69)
    }

    @Test func whatWasNotSeenIsNotKept() throws {
        var rig = try keeping(["a", "b", "c", "d"])
        rig.tell(.changed(1, .changedSincePlan(rig.targets[1], isGone: true)))
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.lookedAtKept(2))
        rig.tell(.ready)
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.kept] == 1)
        #expect(summary[.failed] == 1)
        #expect(summary[.skipped] == 2)
        #expect(summary.exit == 130)
    }

    @Test func aPromotionThatIsToldTwiceCountsOnce() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.ready)
        try rig.receive(0)
        rig.promote(0)
        rig.promote(0)
        #expect(rig.done == ["a"])
        #expect(!rig.machine.isOver)
    }

    @Test func removalsComeWhenEverythingElseHasEnded() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["y", "z"])
        rig.tell(.ready)
        try rig.receive(0)
        #expect(rig.removing == [])
        rig.promote(0)
        #expect(rig.removing == [1, 2])
        rig.tell(.removed(1, nil))
        rig.tell(.removed(2, MirrorError(.conflict, "it was edited")))
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary.removed == 1)
        #expect(summary.orphans == 1)
        #expect(rig.failed == ["z"])
    }

    @Test func anInterruptedRunCancelsAndLeavesOut() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], removing: ["z"]) { $0.window = 1 }
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        rig.tell(.transfer(0, .started(source: "http://a.example/a", size: 3, offset: 0)))
        rig.tell(.end(.interrupted(exit: 130)))
        #expect(rig.cancelled == [0])
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        #expect(rig.machine.isOver)
        #expect(rig.removing == [])
        #expect(rig.machine.interrupted.map(\.name) == ["a"])
        let summary = rig.summary()
        #expect(summary[.interrupted] == 1)
        #expect(summary[.skipped] == 2)
        #expect(summary.exit == 130)
        #expect(rig.failed == [])
    }

    /// In one message: after the last transfer's end alone, the run would be over, and failed.
    @Test func aRunEndedWithPartsIsInterrupted() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.tell(.transfer(0, .started(source: "http://a.example/a", size: 3, offset: 0)))
        rig.tell(.end(.interrupted(exit: 130), discardingParts: true))
        #expect(
            rig.asked.contains {
                if case .cancel([0], discardingParts: true) = $0 { true } else { false }
            })
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        #expect(rig.machine.isOver)
        #expect(rig.summary().exit == 130)
        #expect(rig.failed == [])
    }

    @Test func afterASignalTheDiskGetsAMoment() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        try rig.receive(0)
        rig.time = 100
        rig.tell(.end(.interrupted(exit: 143)))
        #expect(rig.machine.wait == 400)
        #expect(!rig.machine.isOver)
        rig.time = 500
        rig.tell(.tick)
        #expect(rig.machine.isOver)
        #expect(rig.released == [0])
        #expect(rig.asked.contains { if case .abandonPromotions = $0 { true } else { false } })
        #expect(rig.summary()[.skipped] == 1)
    }

    @Test func aSignalAfterAFailureShortensTheWait() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.ready)
        try rig.receive(0)
        let broken = MirrorError(.inputOutput, "the disk failed")
        rig.tell(.transfer(1, .ended(.failed(broken, TransferCost()))))
        #expect(rig.machine.wait == nil)
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.tick)
        #expect(rig.machine.wait == 400)
        rig.time = 400
        rig.tell(.tick)
        #expect(rig.machine.isOver)
        #expect(rig.summary().error?.code == .inputOutput)
    }

    /// Others may need less room, or none.
    @Test func aDownloadThatMeetsAFullDiskEndsAlone() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.ready)
        let full = MirrorError(.noSpace, "no space left")
        rig.tell(.transfer(0, .ended(.failed(full, TransferCost()))))
        #expect(rig.cancelled == [])
        try rig.receive(1)
        rig.promote(1)
        #expect(rig.machine.isOver)
        #expect(rig.summary().exit == 74)
        #expect(rig.summary().error == nil)
    }

    /// No later promotion would succeed.
    @Test func aPromotionThatMeetsAFullDiskEndsTheRun() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.promoted(0, .failed(MirrorError(.noSpace, "no space left"))))
        #expect(rig.cancelled == [1])
        #expect(rig.summary().error?.code == .noSpace)
    }

    @Test func theDeadlineEndsTheRun() throws {
        var rig = try RunRig(fetching: ["a"]) { $0.deadline = 5 }
        rig.tell(.ready)
        rig.time = 1000
        rig.tell(.tick)
        #expect(rig.machine.wait == 4000)
        rig.time = 5000
        rig.tell(.tick)
        #expect(rig.cancelled == [0])
        #expect(rig.machine.wait == 1000)
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost()))))
        #expect(rig.machine.isOver)
        #expect(rig.summary().error?.code == .deadline)
    }

    @Test func theDeadlineHoldsAfterAFailureToo() throws {
        var rig = try RunRig(fetching: ["a", "b"]) {
            $0.deadline = 5
            $0.stopsAtFirstFailure = true
        }
        rig.tell(.ready)
        rig.tell(.transfer(0, .started(source: "a", size: nil, offset: 0)))
        try rig.receive(0)
        let gone = MirrorError(.httpStatus, "gone")
        rig.tell(.transfer(1, .ended(.failed(gone, TransferCost(requests: 1)))))
        #expect(rig.machine.wait == 6000)
        rig.time = 6000
        rig.tell(.tick)
        #expect(rig.machine.isOver)
        #expect(rig.summary()[.interrupted] == 1)
    }

    @Test func aRunEndedEarlyBeginsNothing() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.ready)
        #expect(rig.submitted == [])
        #expect(rig.machine.isOver)
        #expect(rig.summary()[.skipped] == 2)
    }

    @Test func aRefusedRunLeavesEverythingOut() throws {
        var rig = try RunRig(fetching: ["a", "b"], removing: ["z"])
        rig.tell(.refused(MirrorError(.deleteLimit, "too many")))
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.skipped] == 2)
        #expect(summary.error?.code == .deleteLimit)
    }

    @Test func anInterruptBeforeRefusalCounts() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.end(.interrupted(exit: 143)))
        rig.tell(.refused(MirrorError(.deleteLimit, "too many")))
        #expect(rig.machine.isOver)
        #expect(rig.summary().exit == 143)
    }

    @Test func theFirstFailureEndsWhereWanted() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"]) {
            $0.window = 2
            $0.stopsAtFirstFailure = true
        }
        rig.tell(.ready)
        let gone = MirrorError(.httpStatus, "gone")
        rig.tell(.transfer(0, .ended(.failed(gone, TransferCost(requests: 1)))))
        #expect(rig.cancelled == [1])
        #expect(rig.submitted == [0, 1])
        rig.tell(.transfer(1, .ended(.cancelled(TransferCost()))))
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["a"])
        #expect(rig.summary()[.skipped] == 2)
    }
}

/// Failures that end the run before a transfer was begun.
@Suite struct RunEndingTests {
    /// A plan of conflicts that stay as they are, and orphans.
    private func rig(
        conflicts: Int, window: Int = 2, failsFast: Bool = true
    ) throws -> RunRig {
        try RunRig(
            fetching: (0..<conflicts).map { "c\($0)" }, removing: ["z1", "z2"], kind: .conflict
        ) {
            $0.window = window
            $0.onConflict = .keep
            $0.stopsAtFirstFailure = failsFast
        }
    }

    @Test(arguments: [1, 2, 3, 9]) func aKeptConflictEndsTheRun(count: Int) throws {
        var rig = try rig(conflicts: count)
        rig.tell(.ready)
        #expect(rig.machine.isOver)
        #expect(rig.removing == [])
        #expect(rig.submitted == [])
        let summary = rig.summary()
        #expect(summary[.failed] + summary[.skipped] == count)
        #expect(summary[.failed] >= 1)
        #expect(summary.orphans == 2)
    }

    @Test func keptConflictsEndAllWhereWanted() throws {
        var rig = try rig(conflicts: 9, failsFast: false)
        rig.tell(.ready)
        #expect(rig.failed.count == 9)
        #expect(rig.removing == [9, 10])
    }

    @Test func offlineLittleIsHeldAtOnce() throws {
        let count = 3 * StepQueue.mostUnderWay
        let names = (0..<count).map { "f" + String($0 + 100_000) }
        var rig = try RunRig(fetching: names) { $0.isOffline = true }
        rig.tell(.ready)
        #expect(rig.machine.isOver)
        #expect(rig.failed.count == count)
        #expect(rig.surroundings.mostRead <= StepQueue.mostUnderWay + 1024)
    }

    @Test func anUnreadableIndexFailsAndFreesTheTarget() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.surroundings.isIndexBroken = true
        rig.tell(.ready)
        #expect(rig.failed == ["a"])
        #expect(rig.released == [0])
        #expect(rig.machine.isOver)
    }
}

/// Held back, paused, and taken by others.
@Suite struct RunSteeringTests {
    @Test func whilePausedNothingBegins() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.pause(nil))
        rig.tell(.ready)
        #expect(rig.submitted == [])
        rig.tell(.resume(nil))
        #expect(rig.submitted == [0, 1])
    }

    @Test func whatIsHeldBackCanBeCancelled() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.pause(nil))
        rig.tell(.ready)
        rig.tell(.cancel(rig.targets[0], discardingPart: false))
        #expect(rig.failed == ["a"])
        rig.tell(.resume(nil))
        #expect(rig.submitted == [1])
    }

    @Test func cancelledHeldWorkReturnsItsPlace() throws {
        var rig = try RunRig(fetching: (0..<9).map { "f\($0)" }) { $0.window = 2 }
        rig.tell(.pause(nil))
        rig.tell(.ready)
        for target in rig.targets.prefix(6) { rig.tell(.cancel(target, discardingPart: false)) }
        rig.tell(.resume(nil))
        for position in 6..<9 {
            try rig.receive(position)
            rig.promote(position)
        }
        #expect(rig.machine.isOver)
        #expect(rig.submitted == [6, 7, 8])
    }

    /// Its area may have room, or no quota.
    @Test func thoseThatShareTheRequestOfAFileWithoutRoomAreFetched() throws {
        let reason = Reason.overQuota(of: 1, size: 3)
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        rig.tell(.transfer(0, .ended(.leftOut(reason, TransferCost(requests: 1)))))
        #expect(rig.reasons["a"] == reason)
        #expect(rig.submitted == [0, 1])
        try rig.receive(1)
        rig.promote(1)
        let summary = rig.summary()
        #expect(summary[.evicted] == 1)
        #expect(summary[.fetched] == 1)
        #expect(summary.exit == 0)
    }

    @Test func whatFitsNowhereIsNotAskedFor() throws {
        let volume = DiskVolume(place: "/r", areas: [.caches], available: 1, least: 0)
        let shortage = try #require(volume.shortage(of: 9, forFileOf: 9))
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.tell(.withoutRoom([0: shortage]))
        rig.tell(.ready)
        #expect(rig.reasons["a"] == .noRoom(shortage))
        #expect(rig.submitted == [1])
        try rig.receive(1)
        rig.promote(1)
        #expect(rig.machine.isOver)
        #expect(rig.summary().exit == 77)
    }

    @Test func copiesOfOneBodyCountAgainstTheQuotaToo() throws {
        let reason = Reason.overQuota(of: 1, size: 3)
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.surroundings.lacking = [1: reason]
        rig.tell(.ready)
        try rig.receive(0)
        rig.promote(0)
        #expect(rig.done == ["a", "b"])
        #expect(rig.reasons["b"] == reason)
        #expect(rig.machine.isOver)
    }

    @Test func aTargetOfAnotherRunIsWaitedFor() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.ready, occupied: [0])
        #expect(rig.submitted == [1])
        var done = Event.Done(
            target: rig.targets[0], step: .fetch, outcome: .fetched, reason: .missing,
            verified: .size)
        done.bytesReceived = 3
        rig.tell(.joined(0, .success(done)))
        #expect(rig.done == ["a"])
        #expect(rig.released == [])
    }

    @Test func whatAnotherRunGaveUpIsFetchedHere() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready, occupied: [0])
        rig.tell(.joined(0, nil))
        #expect(rig.submitted == [0])
    }

    /// The other run's bytes may be of another version, so they are only for that target.
    @Test func aDownloadDoesWithoutTargetsOfAnotherRun() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one")
        rig.tell(.ready, occupied: [0])
        #expect(rig.submitted == [1])
        try rig.receive(1)
        rig.promote(1)
        rig.promote(2)
        #expect(rig.done == ["b", "c"])
        rig.tell(.joined(0, nil))
        #expect(rig.submitted == [1, 0])
        try rig.receive(0)
        rig.promote(0)
        #expect(rig.done == ["b", "c", "a"])
        #expect(rig.machine.isOver)
        #expect(rig.machine.totals.transfers == 2)
    }

    @Test func whatFailsForTheReceiverIsAskedAgainForTheOthers() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], from: "one")
        rig.tell(.ready)
        try rig.receive(0)
        rig.tell(.promoted(0, .failed(MirrorError(.obstructed, "a folder is there"))))
        #expect(rig.failed == ["a"])
        #expect(rig.submitted == [0, 1])
        try rig.receive(1)
        for position in [1, 2] { rig.promote(position) }
        #expect(rig.done == ["b", "c"])
        #expect(rig.machine.isOver)
    }

    @Test func offlineEverythingFailsWithoutRequests() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"]) { $0.isOffline = true }
        rig.tell(.ready)
        #expect(rig.machine.isOver)
        #expect(rig.failed == ["a", "b", "c"])
        #expect(rig.submitted == [])
    }

    /// More than a window of transfers, one after the other.
    @Test func aTransferThatEndsMakesRoomForAnother() throws {
        var rig = try RunRig(fetching: (0..<9).map { "f\($0)" }) { $0.window = 2 }
        rig.tell(.ready)
        for position in 0..<9 {
            try rig.receive(position)
            rig.promote(position)
        }
        #expect(rig.submitted == Array(0..<9))
        #expect(rig.machine.isOver)
    }
}
