import Testing

@testable import MirrorKit

@Suite struct DispatcherTests {
    // MARK: Limits and order

    @Test func higherPrioritiesComeFirstThenTheOrder() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        for (id, priority) in [(1, 0), (2, 5), (3, 0), (4, 5), (5, -1)] {
            dispatcher.add([id], a, priority: Int32(priority))
        }
        #expect(dispatcher.fill() == [2, 4, 1, 3, 5])
    }

    @Test func aBusyHostLetsOthersPass() throws {
        let dispatcher = Dispatching(jobs: 3, perHost: 1)
        dispatcher.add([1, 2], try Dispatching.host("a"))
        dispatcher.add([3], try Dispatching.host("b"))
        #expect(dispatcher.fill() == [1, 3])
        dispatcher.release(1)
        #expect(dispatcher.fill() == [2])
    }

    @Test func jobsLimitAllHostsTogether() throws {
        let dispatcher = Dispatching(jobs: 2, perHost: 2)
        for (id, name) in [(1, "a"), (2, "b"), (3, "c")] {
            dispatcher.add([id], try Dispatching.host(name))
        }
        #expect(dispatcher.fill() == [1, 2])
        dispatcher.release(2)
        #expect(dispatcher.fill() == [3])
    }

    /// Under a rate limit few files come at once, and come soon, instead of all hardly at all.
    @Test func aRateLimitLeavesAPlaceForEachWorthyShare() throws {
        let dispatcher = Dispatching(jobs: 9, perHost: 9)
        dispatcher.follow(rate: 200 << 10)
        dispatcher.add(1...20, try Dispatching.host("a"))
        #expect(dispatcher.fill() == Array(1...6))
        dispatcher.follow(rate: 1)
        dispatcher.release(1)
        #expect(dispatcher.fill() == [])
        dispatcher.follow(rate: nil)
        #expect(dispatcher.fill() == [7, 8, 9, 10])
    }

    @Test func aRemovedTransferBlocksNobodyBehindIt() throws {
        let dispatcher = Dispatching(perHost: 1)
        dispatcher.add(1...3, try Dispatching.host("a"))
        #expect(dispatcher.fill() == [1])
        dispatcher.remove(2)
        dispatcher.release(1)
        #expect(dispatcher.fill() == [3])
    }

    @Test func removedTransfersAreNothingThatCouldStart() throws {
        let dispatcher = Dispatching()
        dispatcher.add(1...3, try Dispatching.host("a"))
        #expect(dispatcher.timeToWait() == 0)
        for id in 1...3 { dispatcher.remove(id) }
        #expect(dispatcher.timeToWait() == nil)
        #expect(dispatcher.fill() == [])
    }

    @Test func aRequeuedTransferStartsOnceInItsPlace() throws {
        let dispatcher = Dispatching(jobs: 1)
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add([1, 2], a)
        #expect(dispatcher.fill() == [1])
        dispatcher.remove(2)
        dispatcher.add([2], b)
        dispatcher.release(1)
        #expect(dispatcher.fill() == [2])
        dispatcher.release(2)
        #expect(dispatcher.fill().isEmpty)
    }

    @Test func aRedirectTakesAPlaceWhereItLeads() throws {
        let dispatcher = Dispatching(perHost: 1)
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add([1, 2], a)
        dispatcher.add([3], b)
        #expect(dispatcher.fill() == [1, 3])
        guard case .waits = dispatcher.admit(1, to: b) else {
            Issue.record("a second transfer at a host that may have one")
            return
        }
        dispatcher.release(3)
        guard case .ask = dispatcher.admit(1, to: b) else {
            Issue.record("no place where one is free")
            return
        }
        #expect(dispatcher.fill() == [2])
    }

    @Test func aFasterHostGetsMoreWhereMeasured() throws {
        let dispatcher = Dispatching(jobs: 64, perHost: nil)
        dispatcher.add(1...200, try Dispatching.host("a"))
        #expect(dispatcher.fill().count == HostPace.start)
        dispatcher.connected(1)
        dispatcher.answered(1)
        dispatcher.measure()
        #expect(dispatcher.fill().isEmpty)
        // Each transfer brings as much as the others: more of them pay.
        for now in stride(from: HostPace.window, through: 6 * HostPace.window, by: 500) {
            for id in 1...64 { dispatcher.received(1 << 20, by: id) }
            dispatcher.advance(to: now)
            dispatcher.measure()
            _ = dispatcher.fill(now: now)
        }
        #expect(dispatcher.runningCount == HostPace.mostConnections)
        dispatcher.backOff(1)
        dispatcher.release(1)
        #expect(dispatcher.fill(now: 3000).isEmpty)
    }

    @Test func aSilentHostGetsMoreOnceInTime() throws {
        let dispatcher = Dispatching(jobs: 128, perHost: nil)
        dispatcher.add(1...200, try Dispatching.host("a"), isBrief: true)
        #expect(dispatcher.fill().count == HostPace.start)
        #expect(dispatcher.timeToWait() == nil)
        dispatcher.connected(1)
        #expect(dispatcher.fill(now: 4).count == 1)
        #expect(dispatcher.timeToWait() == HostPace.silence - 4)
        #expect(dispatcher.fill(now: HostPace.silence - 1).isEmpty)
        _ = dispatcher.fill(now: HostPace.silence)
        #expect(dispatcher.runningCount == HostPace.mostUnanswered)
        #expect(dispatcher.timeToWait() == nil)
    }

    @Test func timeInWhichNobodyReadIsNoSilence() throws {
        let dispatcher = Dispatching(jobs: 128, perHost: nil)
        dispatcher.add(1...200, try Dispatching.host("a"), isBrief: true)
        _ = dispatcher.fill()
        dispatcher.connected(1)
        #expect(dispatcher.fill().count == 1)
        #expect(dispatcher.fill(now: HostPace.silence, hasRead: false).isEmpty)
        #expect(dispatcher.timeToWait() == HostPace.silence)
        _ = dispatcher.fill(now: 2 * HostPace.silence)
        #expect(dispatcher.runningCount == HostPace.mostUnanswered)
    }

    @Test func silentHostsShareAQuarterOfThePlaces() throws {
        let dispatcher = Dispatching(jobs: 64, perHost: nil)
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add(1...100, a, isBrief: true)
        dispatcher.add(101...200, b, isBrief: true)
        let began = dispatcher.fill()
        for id in began { dispatcher.connected(id) }
        let connected = dispatcher.runningCount + dispatcher.fill(now: 1).count
        #expect(dispatcher.fill(now: HostPace.silence).isEmpty)
        #expect(dispatcher.runningCount == connected)
        #expect(dispatcher.timeToWait() == nil)
    }

    @Test func aHostThatComplainedBeginsAtItsNumber() throws {
        let host = try Dispatching.host("a")
        let dispatcher = Dispatching(jobs: 128, perHost: nil, remembered: [host: 2])
        dispatcher.add(1...200, host, isBrief: true)
        #expect(dispatcher.fill() == [1, 2])
        dispatcher.connected(1)
        dispatcher.connected(2)
        #expect(dispatcher.fill(now: 2 * HostPace.silence).isEmpty)
    }

    @Test func aStallAtASilentHostHalvesNothing() throws {
        let dispatcher = Dispatching(jobs: 64, perHost: nil)
        dispatcher.add(1...64, try Dispatching.host("a"))
        _ = dispatcher.fill()
        dispatcher.answered(1)
        for id in 1...HostPace.start { dispatcher.release(id) }
        let later = dispatcher.fill(now: 1000)
        for id in later { _ = dispatcher.failed(id, Dispatching.silent) }
        for id in later { dispatcher.release(id) }
        #expect(dispatcher.fill(now: 1000).count >= HostPace.start)
    }

    @Test func aHostThatHasAnsweredIsNotSilent() throws {
        let dispatcher = Dispatching(jobs: 128, perHost: nil)
        dispatcher.add(1...200, try Dispatching.host("a"), isBrief: true)
        _ = dispatcher.fill()
        dispatcher.connected(1)
        dispatcher.answered(1)
        #expect(dispatcher.fill(now: 2 * HostPace.silence).count == 1)
        #expect(dispatcher.timeToWait() == nil)
    }

    @Test func aStallAtALiveHostMeansFewer() throws {
        let dispatcher = Dispatching(jobs: 64, perHost: nil)
        dispatcher.add(1...64, try Dispatching.host("a"))
        #expect(dispatcher.fill().count == HostPace.start)
        dispatcher.answered(1)
        guard case .ofTransfer = dispatcher.failed(2, Dispatching.silent) else {
            Issue.record("a host that answers others is taken for a silent one")
            return
        }
        for id in 1...HostPace.start { dispatcher.release(id) }
        #expect(dispatcher.fill().count == HostPace.start / 2)
    }

    /// A long body is asked for over HTTP/1.1 whatever its host speaks.
    @Test func aLongBodyLeavesStreamsToSmallOnes() throws {
        let dispatcher = Dispatching(jobs: 200, perHost: nil)
        dispatcher.add([0], try Dispatching.host("a"))
        #expect(dispatcher.fill() == [0])
        dispatcher.connected(0)
        dispatcher.answered(0)
        dispatcher.add(1...200, try Dispatching.host("a"), isBrief: true)
        #expect(dispatcher.fill().count == HostPace.start - 1)
        dispatcher.connected(1, isShared: true)
        #expect(dispatcher.fill().count == HostPace.mostStreams - HostPace.start)
        #expect(dispatcher.runningCount == HostPace.mostStreams)
    }

    @Test func fewerDescriptorsAreFewerAtOnce() throws {
        let dispatcher = Dispatching(jobs: 4)
        dispatcher.add(1...9, try Dispatching.host("a"))
        #expect(dispatcher.fill() == [1, 2, 3, 4])
        #expect(dispatcher.lowerJobs() == 3)
        dispatcher.release(1)
        #expect(dispatcher.fill().isEmpty)
        dispatcher.release(2)
        #expect(dispatcher.fill() == [5])
    }

    // MARK: Time to wait

    @Test func nothingWaitsWhileATransferCouldStart() throws {
        let dispatcher = Dispatching(jobs: 1)
        dispatcher.add([1, 2], try Dispatching.host("a"))
        #expect(dispatcher.timeToWait() == 0)
        #expect(dispatcher.fill() == [1])
        #expect(dispatcher.timeToWait() == nil)
        dispatcher.release(1)
        #expect(dispatcher.timeToWait() == 0)
    }

    @Test func aHeldHostIsAskedInTime() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        dispatcher.hold(a, until: 1000, isTooLong: false)
        dispatcher.add([1], a)
        dispatcher.add([2], try Dispatching.host("b"))
        #expect(dispatcher.fill(now: 400) == [2])
        #expect(dispatcher.timeToWait() == 600)
        #expect(dispatcher.fill(now: 1000) == [1])
        #expect(dispatcher.timeToWait() == nil)
    }

    @Test func aHostHeldTooLongGivesPlaces() throws {
        let dispatcher = Dispatching()
        let a = try Dispatching.host("a")
        dispatcher.hold(a, until: 500, isTooLong: false)
        dispatcher.add([1], a)
        #expect(dispatcher.fill().isEmpty)
        dispatcher.hold(a, until: 1_000_000, isTooLong: true)
        #expect(dispatcher.fill(now: 400) == [1])
        guard case .refused(999_600) = dispatcher.admit(1, to: a) else {
            Issue.record("a host that wants to be left alone is asked")
            return
        }
    }

    @Test func waitsEndInOrderAndTime() throws {
        let dispatcher = Dispatching()
        dispatcher.add([1, 2, 3], try Dispatching.host("a"))
        #expect(dispatcher.fill() == [1, 2, 3])
        dispatcher.delay(1, until: 900)
        dispatcher.delay(2, until: 300)
        dispatcher.delay(3, until: 500)
        dispatcher.remove(3)
        #expect(dispatcher.runningCount == 0)
        #expect(dispatcher.timeToWait() == 300)
        #expect(dispatcher.popWoken() == nil)
        dispatcher.advance(to: 900)
        #expect(dispatcher.popWoken() == 2)
        #expect(dispatcher.popWoken() == 1)
        #expect(dispatcher.popWoken() == nil)
    }

    @Test func aReturningNetworkEndsItsWaits() throws {
        let dispatcher = Dispatching()
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add([1, 2], a)
        dispatcher.add([3], b)
        #expect(dispatcher.fill() == [1, 2, 3])
        dispatcher.delay(1, until: 10_000, endsWithNetwork: true)
        dispatcher.delay(2, until: 10_000)
        _ = dispatcher.failed(3, Dispatching.refused)
        dispatcher.release(3)
        dispatcher.add([3], b)
        #expect(dispatcher.timeToWait() == 500)
        dispatcher.networkReturned()
        #expect(dispatcher.timeToWait() == 0)
        #expect(dispatcher.fill() == [3])
        #expect(dispatcher.popWoken() == 1)
        #expect(dispatcher.popWoken() == nil)
    }

    @Test func aTryBroughtForwardCountsExtra() throws {
        let dispatcher = Dispatching(retries: 1)
        let host = try Dispatching.host("a")
        func fail(at now: Int64) -> HostSilence {
            dispatcher.add([1], host)
            #expect(dispatcher.fill(now: now) == [1])
            defer { dispatcher.release(1) }
            return dispatcher.failed(1, Dispatching.refused)
        }
        guard case .ofHost = fail(at: 0) else { return #expect(Bool(false)) }
        dispatcher.networkReturned()
        guard case .ofHost(let wait) = fail(at: 1) else { return #expect(Bool(false)) }
        dispatcher.networkReturned()
        // That may be so as often as the ladder has tries: a network may come and go for ever.
        guard case .forGood = fail(at: 2) else { return #expect(Bool(false), "\(wait)") }
    }

    // MARK: Further connections

    @Test func furtherConnectionsTakeNoWantedPlace() throws {
        let dispatcher = Dispatching(jobs: 3, perHost: 2)
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add([1], a)
        #expect(dispatcher.fill() == [1])
        #expect(dispatcher.takeExtra(at: a))
        #expect(!dispatcher.takeExtra(at: a))
        dispatcher.add([2, 3], b)
        #expect(dispatcher.fill() == [2])
        #expect(dispatcher.isWaitedFor(at: a))
        dispatcher.releaseExtra(at: a)
        #expect(dispatcher.fill() == [3])
    }

    @Test func waitersForADeadHostBlockNoOther() throws {
        let dispatcher = Dispatching()
        let (a, b) = (try Dispatching.host("a"), try Dispatching.host("b"))
        dispatcher.add([1, 2], a)
        dispatcher.add([3], b)
        #expect(dispatcher.fill() == [1, 2, 3])
        _ = dispatcher.failed(1, Dispatching.refused)
        for id in [1, 2] {
            dispatcher.release(id)
            dispatcher.add([id], a)
        }
        #expect(!dispatcher.isWaitedFor(at: b))
        #expect(dispatcher.takeExtra(at: b))
        #expect(!dispatcher.takeExtra(at: a))
    }
}
