import Testing

@testable import MirrorKit
@testable import MirrorModel

@Suite struct ScheduleTests {
    private func host(_ name: String) throws -> Schedule.Host {
        Schedule.Host(try SourceURL("https://\(name).example/"))
    }

    private func all(_ schedule: inout Schedule, now: Int64 = 0) -> [Int] {
        var ids: [Int] = []
        while let id = schedule.next(now: now) { ids.append(id) }
        return ids
    }

    @Test func higherPrioritiesComeFirstThenTheOrder() throws {
        var schedule = Schedule(jobs: 9, perHost: 9)
        let a = try host("a")
        for (id, priority) in [(1, 0), (2, 5), (3, 0), (4, 5), (5, -1)] {
            schedule.add(id, priority: Int32(priority), host: a)
        }
        #expect(all(&schedule) == [2, 4, 1, 3, 5])
    }

    @Test func aBusyHostLetsOthersPass() throws {
        var schedule = Schedule(jobs: 3, perHost: 1)
        let (a, b) = (try host("a"), try host("b"))
        schedule.add(1, priority: 0, host: a)
        schedule.add(2, priority: 0, host: a)
        schedule.add(3, priority: 0, host: b)
        #expect(all(&schedule) == [1, 3])
        schedule.release(1)
        #expect(all(&schedule) == [2])
    }

    @Test func jobsLimitAllHostsTogether() throws {
        var schedule = Schedule(jobs: 2, perHost: 2)
        for (id, name) in [(1, "a"), (2, "b"), (3, "c")] {
            schedule.add(id, priority: 0, host: try host(name))
        }
        #expect(all(&schedule) == [1, 2])
        schedule.release(2)
        #expect(all(&schedule) == [3])
    }

    @Test func aRemovedTransferBlocksNobodyBehindIt() throws {
        var schedule = Schedule(jobs: 9, perHost: 1)
        let a = try host("a")
        for id in 1...3 { schedule.add(id, priority: 0, host: a) }
        #expect(all(&schedule) == [1])
        schedule.remove(2)
        schedule.release(1)
        #expect(all(&schedule) == [3])
    }

    @Test func aHeldHostIsAskedWhenItsTimeHasCome() throws {
        var schedule = Schedule(jobs: 9, perHost: 9)
        let a = try host("a")
        schedule.hold(a, until: 1000, isTooLong: false)
        schedule.add(1, priority: 0, host: a)
        schedule.add(2, priority: 0, host: try host("b"))
        #expect(all(&schedule, now: 999) == [2])
        #expect(schedule.nextHoldEnd == 1000)
        #expect(all(&schedule, now: 1000) == [1])
        #expect(schedule.nextHoldEnd == nil)
    }

    @Test func aHostHeldForTooLongGivesPlacesAndSaysNo() throws {
        var schedule = Schedule(jobs: 9, perHost: 9)
        let a = try host("a")
        schedule.hold(a, until: 500, isTooLong: false)
        schedule.add(1, priority: 0, host: a)
        #expect(all(&schedule).isEmpty)
        schedule.hold(a, until: 1_000_000, isTooLong: true)
        #expect(schedule.refusal(of: a, now: 400) == 999_600)
        #expect(all(&schedule, now: 500) == [1])
        #expect(schedule.refusal(of: a, now: 1_000_000) == nil)
    }

    @Test func aRedirectCountsToTheOtherHost() throws {
        var schedule = Schedule(jobs: 9, perHost: 1)
        let (a, b) = (try host("a"), try host("b"))
        schedule.add(1, priority: 0, host: a)
        schedule.add(2, priority: 0, host: a)
        schedule.add(3, priority: 0, host: b)
        _ = schedule.next(now: 0)
        schedule.move(1, to: b)
        #expect(all(&schedule) == [2])
        schedule.release(1)
        #expect(all(&schedule) == [3])
    }

    @Test func aHostThatTakesMoreGetsMoreWhereThatIsMeasured() throws {
        var schedule = Schedule(jobs: 64, perHost: 64, adapts: true)
        let a = try host("a")
        for id in 1...200 { schedule.add(id, priority: 0, host: a) }
        #expect(all(&schedule).count == HostPace.start)
        schedule.tick(now: 0)
        #expect(all(&schedule).isEmpty)
        // Each transfer brings as much as the others: more of them pay.
        for now in stride(from: HostPace.window, through: 4 * HostPace.window, by: 500) {
            for id in 1...64 { schedule.received(1 << 20, by: id) }
            schedule.tick(now: now)
            _ = all(&schedule, now: now)
        }
        #expect(schedule.runningCount == 64)
        schedule.backOff(1, now: 4 * HostPace.window)
        schedule.release(1)
        #expect(all(&schedule).isEmpty)
    }
}
