import Testing

@testable import MirrorModel

/// What a run does while nothing, or only what is urgent, may be fetched.
@Suite struct DeferralTests {
    private let closed = Deferral.outsideWindow(opens: Instant(seconds: 100))

    @Test func whatMayNotRunIsDeferredWithoutARequest() throws {
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
        rig.land(1)
        let summary = rig.summary()
        #expect(summary[.deferred] == 1)
        #expect(summary[.fetched] == 1)
    }

    @Test func aRequestThatAnUrgentResourceSharesIsMade() throws {
        var rig = try RunRig(fetching: ["a", "b"], from: "same", urgent: ["b"])
        rig.tell(.permission(closed))
        rig.tell(.ready)
        #expect(rig.submitted == [0])
    }

    @Test func transfersUnderWayEndAndThoseHeldBackDoNotBegin() throws {
        var rig = try RunRig(fetching: ["a", "b", "c"], urgent: ["c"]) { $0.window = 1 }
        rig.tell(.ready)
        #expect(rig.submitted == [0])
        rig.tell(.permission(closed))
        #expect(rig.cancelled == [0])
        rig.tell(.transfer(0, .ended(.cancelled(TransferCost(requests: 1, bytesReceived: 7)))))
        #expect(rig.submitted == [0, 2])
        try rig.receive(2)
        rig.land(2)
        #expect(rig.machine.isOver)
        #expect(rig.reasons["a"] == .deferred(closed))
        let summary = rig.summary()
        #expect(summary[.deferred] == 2)
        #expect(summary[.fetched] == 1)
        #expect(summary.bytesReceived == 10)
        #expect(summary.exit == 0)
    }

    @Test func aBodyThatArrivedBeforeItsTransferEndedLands() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.tell(.permission(closed))
        try rig.receive(0)
        rig.land(0)
        #expect(rig.summary()[.fetched] == 1)
    }

    @Test func whatWasNotReachedYetRunsWhenTransfersMayRunAgain() throws {
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

    @Test func removalsAreNoTransfers() throws {
        var rig = try RunRig(fetching: ["a"], removing: ["z"])
        rig.tell(.permission(.meteredNetwork))
        rig.tell(.ready)
        #expect(rig.removing == [1])
    }
}
