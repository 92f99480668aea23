import Testing

@testable import MirrorKit

@Suite struct RateLimitTests {
    @Test func oneRateHoldsAllDay() throws {
        let limit = try #require(RateLimit(text: "2MiB"))
        #expect(limit.rate(at: Instant(seconds: 0), .utc) == 2 << 20)
        #expect(!limit.changes)
        #expect(limit.least == 2 << 20)
    }

    @Test func zeroIsNoLimit() throws {
        let limit = try #require(RateLimit(text: "0"))
        #expect(limit.rate(at: Instant(seconds: 0), .utc) == nil)
        #expect(limit.least == nil)
    }

    @Test(arguments: [
        ("08:00-18:00 1MiB, otherwise 0", "07:59", nil),
        ("08:00-18:00 1MiB, otherwise 0", "08:00", 1 << 20),
        ("08:00-18:00 1MiB, otherwise 0", "18:00", nil), ("08:00-18:00 1MiB", "03:00", nil),
        ("08:00-18:00 100,12:00-13:00 200,otherwise 5MiB", "12:30", 100),
        ("12:00-13:00 200,08:00-18:00 100,otherwise 5MiB", "12:30", 200),
        ("otherwise 7, 22:00-06:00 0", "23:00", nil), ("otherwise 7, 22:00-06:00 0", "12:00", 7),
    ])
    func firstWindowThatHoldsTheTimeCounts(text: String, time: String, rate: Int64?) throws {
        let limit = try #require(RateLimit(text: text))
        let now = LocalZone.at("2026-06-01T\(time):00Z")
        #expect(limit.rate(at: now, .utc) == rate)
        #expect(RateLimit(text: limit.description) == limit)
    }

    @Test(arguments: [
        "", "-1", "fast", "08:00-18:00", "08:00-18:00 1MiB, otherwise", "otherwise 1, otherwise 2",
        "08:00-18:00 1MiB 2MiB", "08:00-18:00 1MiB,", "08:00 1MiB",
    ])
    func textThatNamesNoRateIsRefused(text: String) { #expect(RateLimit(text: text) == nil) }
}
