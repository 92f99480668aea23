import Testing

@testable import mirror

@Suite struct SchedulePeriodTests {
    @Test(arguments: [
        (60, "*-*-* *:*:00", "* * * * *"), (900, "*-*-* *:00/15:00", "7-59/15 * * * *"),
        (3600, "*-*-* *:00:00", "7 * * * *"), (21_600, "*-*-* 00/6:00:00", "7 2-23/6 * * *"),
        (86_400, "*-*-* 00:00:00", "7 2 * * *"), (604_800, "Mon *-*-* 00:00:00", "7 2 * * 0"),
    ])
    func periodsOfTheCalendarAreExpressed(seconds: Int64, calendar: String, cron: String) throws {
        let period = try #require(SchedulePeriod(seconds: seconds))
        #expect(period.calendar == calendar)
        #expect(period.cron(offset: 127) == cron)
    }

    @Test(arguments: [(420, "6m"), (25_200, "6h"), (90_000, "1d"), (61, "1m"), (400_000, "7d")])
    func otherPeriodsHaveANeighbour(seconds: Int64, nearest: String) throws {
        let period = try #require(SchedulePeriod(seconds: seconds))
        #expect(period.calendar == nil)
        #expect(period.cron(offset: 0) == nil)
        #expect(period.nearest.spelling == nearest)
    }

    @Test(arguments: [-1, 0, 59]) func nothingStartsMoreThanOnceAMinute(seconds: Int64) {
        #expect(SchedulePeriod(seconds: seconds) == nil)
    }
}
