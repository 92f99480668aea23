import Testing

@testable import MirrorKit

@Suite struct WatchIntervalTests {
    private let interval = WatchInterval(every: 3600)
    private let now = Instant(seconds: 1_000_000)

    private func end(_ change: (inout SyncEnd) -> Void) -> SyncEnd {
        var end = SyncEnd()
        change(&end)
        return end
    }

    private func seconds(_ end: SyncEnd, random: (Int64) -> Int64 = { _ in 0 }) -> Int64 {
        interval.next(after: end, at: now, random: random).at.seconds(since: now)
    }

    @Test func withoutAnythingDueItSyncsAfterTheCeiling() {
        let next = interval.next(after: SyncEnd(), at: now) { _ in 0 }
        #expect(next == NextSync(at: now.advanced(bySeconds: 3600), cause: .every))
    }

    @Test func theFirstFileThatBecomesDueWakesIt() {
        let due = NextSync(at: now.advanced(bySeconds: 900), cause: .due("Caches/a"))
        let next = interval.next(after: end { $0.nextDue = due }, at: now) { _ in 0 }
        #expect(next == NextSync(at: due.at, cause: .due("Caches/a")))
    }

    @Test func dueAfterTheCeilingDelaysNothing() {
        let due = NextSync(at: now.advanced(bySeconds: 9000), cause: .due("Caches/a"))
        #expect(seconds(end { $0.nextDue = due }) == 3600)
    }

    @Test func whatBecameDueIsSyncedSoon() {
        let due = NextSync(at: now.advanced(bySeconds: -5), cause: .due("Caches/a"))
        #expect(seconds(end { $0.nextDue = due }) == 1)
    }

    @Test(arguments: [
        (1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (9, 3600), (Int.max, 3600),
    ])
    func failuresDoubleTheWaitToTheCeiling(failures: Int, wait: Int) {
        #expect(seconds(end { $0.failures = failures }) == Int64(wait))
    }

    @Test func chanceHastensARetryByHalf() {
        #expect(seconds(end { $0.failures = 1 }, random: { $0 }) == 15)
    }

    @Test func aShortCeilingBoundsARetry() {
        let next = WatchInterval(every: 5).next(after: end { $0.failures = 4 }, at: now) { _ in 0 }
        #expect(next.at.seconds(since: now) == 5)
    }

    @Test func aWindowThatOpensWakesIt() {
        let opens = now.advanced(bySeconds: 600)
        let next = interval.next(
            after: end { $0.deferral = .outsideWindow(opens: opens) }, at: now
        ) { _ in 0 }
        #expect(next == NextSync(at: opens, cause: .permitted))
    }

    /// Whoever waits beyond the end of the hours waits for a day, and perhaps for ever.
    @Test(arguments: [(1200, 600), (9_000, 3_600)])
    func chanceLeavesHalfOfTheHours(length: Int64, delay: Int64) {
        let opens = now.advanced(bySeconds: 600)
        let next = WatchInterval(every: 86_400, jitter: 3_600).next(
            after: end {
                $0.deferral = .outsideWindow(opens: opens)
                $0.windowCloses = opens.advanced(bySeconds: length)
            }, at: now
        ) { $0 }
        #expect(next == NextSync(at: opens.advanced(bySeconds: delay), cause: .permitted))
    }

    @Test func aDeferralTellsWhenItsHoursEnd() {
        var permission = TransferPermission()
        permission.windows = DailyWindows(text: "02:00-02:30")
        let status = PermissionStatus(
            of: permission, at: Instant(seconds: 0), .utc, isMetered: false, account: nil)
        #expect(status.deferral == .outsideWindow(opens: Instant(seconds: 7_200)))
        #expect(status.windowCloses == Instant(seconds: 9_000))
    }

    @Test func aMeteredNetworkIsCheckedEveryFiveMinutes() {
        #expect(seconds(end { $0.deferral = .meteredNetwork }) == 300)
    }

    @Test(arguments: [
        // A tenth of the wait, and ten minutes at most.
        (3600, nil, 360), (100_000, nil, 600), (10, nil, 1), (3600, 5, 5), (3600, 0, 0),
        // No more than the ceiling itself.
        (60, 9_000, 60),
    ])
    func chanceDelaysASync(every: Int64, jitter: Int64?, delay: Int64) {
        let next = WatchInterval(every: every, jitter: jitter)
            .next(after: SyncEnd(), at: now) { $0 }
        #expect(next.at.seconds(since: now) == every + delay)
    }

    @Test func theSentenceSaysWhenAndWhy() {
        let clock = LocalClock(now: Instant(seconds: 0), offset: .utc)
        let at = Instant(seconds: 900)
        func sentence(_ cause: NextSync.Cause) -> String {
            NextSync(at: at, cause: cause).sentence(on: clock)
        }
        #expect(sentence(.every) == "Next sync at 00:15, in 15 min.")
        #expect(
            sentence(.due("Caches/a")) == "Next sync at 00:15, in 15 min: Caches/a is due then.")
        #expect(sentence(.retry(2)) == "Next try at 00:15, in 15 min.")
    }

    @Test(arguments: [
        (0, false), (1, false), (65, true), (66, true), (69, false), (73, true), (75, false),
    ])
    func onlyLastingFaultsEndAStartingWatch(exit: Int32, isFinal: Bool) {
        #expect(SyncEnd.isFinal(exit: exit) == isFinal)
    }

    @Test(arguments: [(0, false), (1, false), (69, true), (74, true), (75, true), (65, true)])
    func whatFailedForGoodIsNotTriedSooner(exit: Int32, isMendable: Bool) {
        #expect(SyncEnd.isMendable(exit: exit) == isMendable)
    }
}
