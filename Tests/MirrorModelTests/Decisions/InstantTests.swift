@testable import MirrorKit
import Testing

/// Points of time, to the ends of what they can say.
@Suite struct InstantTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (-1000, "1969-12-31T23:59:59.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_795_233_360_123, "2026-11-21T03:56:00.123Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func instantsAreWrittenAsRFC3339(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).rfc3339 == text)
    }

    /// RFC 3339 §5.6 has years of four digits only.
    @Test(arguments: [
        (253_402_300_800_000, "9999-12-31T23:59:59.999Z"), (Int64.max, "9999-12-31T23:59:59.999Z"),
        (-62_167_219_200_001, "0000-01-01T00:00:00.000Z"), (Int64.min, "0000-01-01T00:00:00.000Z"),
    ])
    func yearsOfMoreDigitsAreClamped(milliseconds: Int64, text: String) {
        #expect(Instant(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test(arguments: [Int64(0), 1, 999, -1, 1_795_233_360_123, 253_402_300_799_999])
    func writtenInstantsAreReadAgain(milliseconds: Int64) {
        let instant = Instant(milliseconds: milliseconds)
        #expect(Instant(rfc3339: instant.rfc3339) == instant)
    }

    @Test(arguments: [
        "", "Z", "2026-11-23", "2026-11-23T10:00:00", "2026-13-23T10:00:00Z",
        "2026-11-23T24:00:00Z",
        "2026-11-23T10:60:00Z", "2026-11-23T10:00:00+01:00", "2026-11-23T10:00:00.1.2Z",
        "-----------------Z",
        "99999999999999999999-11-23T10:00:00Z",
    ])
    func textThatIsNoInstantIsRefused(text: String) { #expect(Instant(rfc3339: text) == nil) }

    @Test func fileNamesTakeTheBasicFormat() {
        #expect(Instant(milliseconds: 1_795_233_360_999).basicFormat == "20261121T035600Z")
        #expect(Instant(milliseconds: .max).basicFormat == "99991231T235959Z")
        #expect(Instant(milliseconds: .min).basicFormat == "00000101T000000Z")
    }

    /// Every day of four centuries, counted one by one.
    @Test func theCalendarHasNoGaps() {
        var (year, month, day): (Int64, Int64, Int64) = (1900, 1, 1)
        var seconds: Int64 = -2_208_988_800
        for _ in 0..<146_097 {
            let civil = CivilTime(Instant(seconds: seconds))
            guard (civil.year, civil.month, civil.day) == (year, month, day) else {
                Issue.record("\(seconds): \(civil), not \(year)-\(month)-\(day)")
                return
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            day += 1
            if day > lengths[Int(month) - 1] { (day, month) = (1, month + 1) }
            if month > 12 { (month, year) = (1, year + 1) }
            seconds += 86400
        }
        #expect((year, month, day) == (2300, 1, 1))
    }

    @Test func theTimeOfDayIsSplit() {
        let civil = CivilTime(Instant(milliseconds: -1))
        #expect(civil.secondOfDay == 86399)
        #expect(civil.time == (23, 59, 59))
    }

    @Test(
        arguments: [
            (0, 0), (999, 0), (1000, 1), (-1, -1), (-999, -1), (-1000, -1), (-1001, -2),
            (Int64.max, Int64.max / 1000), (Int64.min, Int64.min / 1000 - 1),
        ] as [(Int64, Int64)])
    func wholeSecondsAreRoundedDown(milliseconds: Int64, seconds: Int64) {
        #expect(Instant(milliseconds: milliseconds).seconds == seconds)
    }

    @Test func secondsThatDoNotFitAreClamped() {
        #expect(Instant(seconds: .max).milliseconds == .max)
        #expect(Instant(seconds: .min).milliseconds == .min)
        #expect(Instant(seconds: -5).milliseconds == -5000)
    }

    @Test(
        arguments: [
            (0, 5, 5000), (0, -5, -5000), (0, Int64.max, Int64.max), (0, Int64.min, Int64.min),
            (Int64.max, 1, Int64.max), (Int64.min, -1, Int64.min),
            (Int64.max, -1, Int64.max - 1000),
        ] as [(Int64, Int64, Int64)])
    func advancingStopsAtTheEnds(from: Int64, seconds: Int64, to: Int64) {
        let instant = Instant(milliseconds: from).advanced(bySeconds: seconds)
        #expect(instant.milliseconds == to)
    }

    @Test func differencesAreRoundedTowardZeroAndClamped() {
        let zero = Instant(seconds: 0)
        #expect(Instant(milliseconds: 1999).seconds(since: zero) == 1)
        #expect(Instant(milliseconds: -1999).seconds(since: zero) == -1)
        let (first, last) = (Instant(milliseconds: .min), Instant(milliseconds: .max))
        #expect(last.seconds(since: first) == Int64.max / 1000)
        #expect(first.seconds(since: last) == Int64.min / 1000)
        #expect(first < zero && zero < last)
    }
}
