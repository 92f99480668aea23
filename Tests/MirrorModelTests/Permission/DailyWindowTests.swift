import Testing

@testable import MirrorKit

@Suite struct DailyWindowTests {
    @Test(arguments: [
        "01:00-06:00", "22:00-06:00", "00:00-24:00", "18:00-24:00", "23:59-00:01", "00:00-00:01",
    ])
    func windowIsWrittenAsItIsRead(text: String) throws {
        #expect(try #require(DailyWindow(text: text)).description == text)
    }

    @Test(arguments: [
        "", "01:00", "1:00-06:00", "01:00-6:00", "01:00-01:00", "24:00-06:00", "25:00-26:00",
        "01:60-02:00", "01:00-24:01", "-1:00-02:00", "01:00-06:00-", "01:00–06:00", "01.00-06.00",
        " 01:00-06:00", "+1:00-02:00", "00:00-00:00",
    ])
    func textThatNamesNoWindowIsRefused(text: String) {
        #expect(DailyWindow(text: text) == nil)
    }

    @Test func midnightAsEndIsTheDaysEnd() throws {
        #expect(DailyWindow(text: "18:00-00:00") == DailyWindow(text: "18:00-24:00"))
    }

    @Test(arguments: [
        ("01:00-06:00", 60, true), ("01:00-06:00", 59, false), ("01:00-06:00", 359, true),
        ("01:00-06:00", 360, false), ("22:00-06:00", 1320, true), ("22:00-06:00", 1439, true),
        ("22:00-06:00", 0, true), ("22:00-06:00", 360, false), ("22:00-06:00", 720, false),
        ("00:00-24:00", 0, true), ("00:00-24:00", 1439, true),
    ])
    func endOfAWindowIsOutsideIt(text: String, minute: Int, contains: Bool) throws {
        #expect(try #require(DailyWindow(text: text)).contains(minute: minute) == contains)
    }

    @Test func windowsAreReadWithCommasBetweenThem() throws {
        let windows = try #require(DailyWindows(text: "01:00-06:00, 22:00-24:00"))
        #expect(windows.description == "01:00-06:00,22:00-24:00")
        #expect(DailyWindows(text: "01:00-06:00,") == nil)
        #expect(DailyWindows(text: "") == nil)
    }

    @Test(arguments: [
        // Later on the same day, and on the next one.
        ("01:00-06:00,22:00-23:00", "2026-06-01T10:00:00Z", "2026-06-01T20:00:00Z"),
        ("01:00-06:00", "2026-06-01T10:00:00Z", "2026-06-01T23:00:00Z"),
        // Half past two is left out by the change to summer time; it is half past three then.
        ("02:30-06:00", "2026-03-28T23:30:00Z", "2026-03-29T01:30:00Z"),
        // The night of the change has its windows by the new time.
        ("05:00-06:00", "2026-03-28T23:30:00Z", "2026-03-29T03:00:00Z"),
        ("05:00-06:00", "2026-10-24T22:30:00Z", "2026-10-25T04:00:00Z"),
        // The end of the year.
        ("00:30-01:00", "2026-12-31T12:00:00Z", "2026-12-31T23:30:00Z"),
    ])
    func windowOpensAtItsLocalTime(text: String, now: String, opens: String) throws {
        let windows = try #require(DailyWindows(text: text))
        #expect(
            windows.opening(after: LocalZone.at(now), LocalZone.central) == LocalZone.at(opens))
    }

    @Test func theNextChangeIsTheNearestBoundary() throws {
        let windows = try #require(DailyWindows(text: "01:00-06:00,12:00-13:00"))
        func change(_ now: String) -> Instant? {
            windows.change(after: LocalZone.at(now), .utc)
        }
        #expect(change("2026-06-01T00:00:00Z") == LocalZone.at("2026-06-01T01:00:00Z"))
        #expect(change("2026-06-01T01:00:00Z") == LocalZone.at("2026-06-01T06:00:00Z"))
        #expect(change("2026-06-01T13:00:00Z") == LocalZone.at("2026-06-02T01:00:00Z"))
    }
}
