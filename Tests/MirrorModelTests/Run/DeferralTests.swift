import Testing

@testable import MirrorKit

/// What a run does while nothing, or only what is urgent, may be fetched.
@Suite struct DeferralTests {
    private let closed = Deferral.outsideWindow(opens: Instant(seconds: 100))

    @Test func whatMayNotRunIsDeferred() throws {
        var rig = try RunRig(fetching: ["a", "b"])
        rig.tell(.permission(closed))
        rig.tell(.ready)
        #expect(rig.submitted == [])
        #expect(rig.reasons == ["a": .deferred(closed), "b": .deferred(closed)])
        #expect(rig.machine.isOver)
        let summary = rig.summary()
        #expect(summary[.deferred] == 2)
        #expect(summary.exit == 0)
        #expect(summary.requests == 0)
    }

    @Test func whatIsUrgentIsFetchedAllTheSame() throws {
        var rig = try RunRig(fetching: ["a", "b"], urgent: ["b"])
        rig.tell(.permission(closed))
        rig.tell(.ready)
        #expect(rig.submitted == [1])
        try rig.receive(1)
        rig.promote(1)
        let summary = rig.summary()
        #expect(summary[.deferred] == 1)
        #expect(summary[.fetched] == 1)
    }

    @Test func anUrgentSharersRequestIsMade() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "same", urgent: ["b"])
        rig.tell(.permission(closed))
        rig.tell(.ready)
        #expect(rig.submitted == [0])
    }

    @Test func runningTransfersEndAndOthersStay() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], urgent: ["c"]) { $0.window = 1 }
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        rig.tell(.permission(closed))
        #expect(rig.cancelled == [0])
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1, bytesReceived: 7)))))
        #expect(rig.submitted == [0, 2])
        try rig.receive(2)
        rig.promote(2)
        #expect(rig.machine.isOver)
        #expect(rig.reasons["a"] == .deferred(closed))
        let summary = rig.summary()
        #expect(summary[.deferred] == 2)
        #expect(summary[.fetched] == 1)
        #expect(summary.bytesReceived == 10)
        #expect(summary.exit == 0)
    }

    @Test func aBodyBeforeItsTransfersEndIsPromoted() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.tell(.permission(closed))
        try rig.receive(0)
        rig.promote(0)
        #expect(rig.summary()[.fetched] == 1)
    }

    @Test func deferredTransfersRunWhenPermitted() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.permission(closed))
        rig.tell(.permission(nil))
        rig.tell(.ready)
        #expect(rig.submitted == [0])
    }

    @Test func anInterruptionCountsMoreThanADeferral() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.tell(.permission(closed))
        rig.tell(.end(.interrupted(exit: 130)))
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        let summary = rig.summary()
        #expect(summary[.interrupted] == 1)
        #expect(summary.exit == 130)
    }

    @Test func whatIsPausedEndsAndOthersContinue() throws {
        var rig = try RunRig(fetching: ["a", "b"], urgent: ["a"])
        rig.tell(.ready)
        rig.tell(.putAside(rig.targets[0]))
        #expect(rig.cancelled == [0])
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        try rig.receive(1)
        rig.promote(1)
        #expect(rig.reasons["a"] == .deferred(.paused))
        #expect(rig.summary()[.fetched] == 1)
    }

    @Test func whatEarlierRunsPausedDoesNotBegin() throws {
        var rig = try RunRig(fetching: ["a", "b"]) { $0.paused.pause(try? Target("Caches/b")) }
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        #expect(rig.reasons["b"] == .deferred(.paused))
    }

    @Test func aWaitingTransferPausesAsItBegins() throws {
        var rig = try RunRig(fetching: ["a", "b"]) { $0.window = 1 }
        rig.tell(.ready)
        rig.tell(.pause(rig.targets[1]))
        rig.tell(.transfer(0, .ended(.failed(MirrorError(.httpStatus, "404"), TransferCost()))))
        #expect(rig.submitted == [0, 1])
        #expect(rig.paused == [1])
        rig.tell(.resume(rig.targets[1]))
        #expect(rig.resumed.contains(1))
    }

    @Test func aDownloadIsPausedWhileOneOfItsTargetsIs() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.tell(.ready)
        rig.tell(.pause(rig.targets[1]))
        #expect(rig.paused == [0])
        rig.tell(.pause(rig.targets[0]))
        rig.tell(.resume(rig.targets[1]))
        #expect(rig.resumed == [])
        rig.tell(.resume(rig.targets[0]))
        #expect(rig.resumed == [0])
    }

    /// The simulation found it paused for ever (seed 25721).
    @Test func aCancelledTargetPausesItsDownloadNoLonger() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.tell(.ready)
        rig.tell(.pause(rig.targets[0]))
        rig.tell(.cancel(rig.targets[0], discardingPart: false))
        #expect(rig.resumed == [0])
        #expect(rig.failed == ["a"])
    }

    @Test func aDownloadIsDeferredWithAllItsTargets() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "one")
        rig.tell(.ready)
        rig.tell(.putAside(rig.targets[1]))
        #expect(rig.cancelled == [])
        rig.tell(.putAside(nil))
        #expect(rig.cancelled == [0])
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1)))))
        #expect(rig.reasons == ["a": .deferred(.paused), "b": .deferred(.paused)])
        #expect(rig.machine.isOver)
    }

    @Test func everyPauseHasItsEnd() throws {
        var paused = PausedTargets()
        let target = try Target("Caches/a")
        var wasPaused = [paused.resume(target), paused.resume(nil)]
        #expect(wasPaused == [false, false])
        paused.pause(target)
        #expect(paused.contains(target))
        wasPaused = [paused.resume(target)]
        paused.pause(nil)
        #expect(paused.contains(target))
        wasPaused.append(paused.resume(nil))
        #expect(wasPaused == [true, true])
        #expect(paused.isEmpty)
    }

    @Test func removalsAreNoTransfers() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["z"])
        rig.tell(.permission(.meteredNetwork))
        rig.tell(.ready)
        #expect(rig.removing == [1])
    }
}
