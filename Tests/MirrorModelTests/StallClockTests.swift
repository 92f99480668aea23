import Testing

@testable import MirrorKit

@Suite struct StallClockTests {
    /// Feeds a clock in looks that lie so many milliseconds apart; says at which it stalled.
    private func stall(
        timeout: Int64, looks: Int, apart: Int64 = 500, bytes: (Int) -> Int
    ) -> Int? {
        var clock = StallClock(timeout: timeout)
        clock.begin(at: 0)
        for look in 1...looks {
            clock.receive(bytes(look))
            if clock.hasStalled(at: Int64(look) * apart) { return look }
        }
        return nil
    }

    @Test func silenceStallsAfterTheTimeout() {
        #expect(stall(timeout: 2, looks: 9) { _ in 0 } == 4)
    }

    @Test func oneKibibyteASecondIsNoStall() {
        #expect(stall(timeout: 2, looks: 40) { _ in 512 } == nil)
    }

    @Test func oneByteALookIsAStall() {
        #expect(stall(timeout: 2, looks: 9) { _ in 1 } == 4)
    }

    @Test func silenceCountsFromTheLastBytes() {
        #expect(stall(timeout: 2, looks: 9) { $0 == 3 ? 1 << 20 : 0 } == 7)
    }

    @Test func timeBetweenRequestsDoesNotCount() {
        var clock = StallClock(timeout: 2)
        for request in 0..<3 {
            let began = Int64(request) * 60_000
            clock.begin(at: began)
            let hasStalled = clock.hasStalled(at: began + 600)
            #expect(!hasStalled)
            clock.end(at: began + 600)
        }
        clock.begin(at: 180_000)
        let hasStalled = clock.hasStalled(at: 180_200)
        #expect(hasStalled)
    }

    @Test func requestsThatBringAByteEachStallTogether() {
        var clock = StallClock(timeout: 2)
        var time: Int64 = 0
        var requests = 0
        while !clock.hasStalled(at: time), requests < 2000 {
            clock.begin(at: time)
            time += 2
            clock.receive(1)
            clock.end(at: time)
            requests += 1
        }
        #expect(requests == 1000)
    }

    @Test func askingTimeLeavesOutWhatWasHeldBack() {
        var time = AskingTime(now: 0)
        time.look(now: 250)
        time.look(now: 900, hasAsked: false)
        time.look(now: 1000)
        #expect(time.elapsed == 350)
    }

    @Test func aClockJumpCountsAsOneLook() {
        var time = AskingTime(now: 0)
        time.look(now: 250)
        time.look(now: 3_600_000)
        #expect(time.elapsed == 2 * AskingTime.look)
        time.look(now: 3_600_250)
        #expect(time.elapsed == 3 * AskingTime.look)
    }

    @Test func aClockThatGoesBackAddsNothing() {
        var time = AskingTime(now: 1000)
        time.look(now: 500)
        time.look(now: 1100)
        #expect(time.elapsed == 100)
    }
}
