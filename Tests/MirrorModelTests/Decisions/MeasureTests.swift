@testable import MirrorKit
import Testing

/// Sizes, lengths of time and limits, as people write and read them.
@Suite struct MeasureTests {
    @Test(
        arguments: [
            ("0", 0), ("1234", 1234), ("64MiB", 64 << 20), ("64 MiB", 64 << 20),
            ("1KiB", 1024), ("1kB", 1000), ("2GiB", 2 << 30), ("2GB", 2_000_000_000),
            ("3TiB", 3 << 40), ("3TB", 3_000_000_000_000), ("1.5 GiB", 3 << 29),
            ("10MB", 10_000_000), ("1.001kB", 1001), ("0.1kB", 100), ("4.35MB", 4_350_000),
            ("2.3GB", 2_300_000_000), ("9223372036854775807", .max),
            ("8388607TiB", 8_388_607 << 40), ("5M", 5 << 20), ("500k", 500 << 10), ("5Mi", 5 << 20),
            ("1.5G", 3 << 29), ("2t", 2 << 40),
        ] as [(String, Int64)])
    func sizesAreParsed(text: String, bytes: Int64) {
        #expect(ByteCount(text: text)?.bytes == bytes)
    }

    @Test(arguments: [
        "", " ", ".", ".5MiB", "MiB", "-1", "+1", "1e5", "1.5", "1.5.5MiB", "0x10", "1 MiB/s",
        "1,5MB",
        "9223372036854775808", "8388608TiB", "9223372036854775807KiB", "8388608.0TiB", "nan", "inf",
        "99999999999999999999999999999TB", "1PB", "1P", "1Mib/s", "1 MM", "１MiB", "١",
    ])
    func malformedSizesAreRefused(text: String) {
        #expect(ByteCount(text: text) == nil)
    }

    @Test(
        arguments: [
            (0, "0 B"), (512, "512 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            (1_048_524, "1023.9 KiB"), (1_048_525, "1.0 MiB"), (1 << 20, "1.0 MiB"),
            (49_702_502, "47.4 MiB"), (1 << 30, "1.0 GiB"), (1 << 40, "1.0 TiB"),
            (1 << 50, "1.0 PiB"), (.max, "8.0 EiB"), (-1, "-1 B"), (.min, "\(Int64.min) B"),
        ] as [(Int64, String)])
    func sizesArePrinted(bytes: Int64, text: String) {
        #expect(ByteCount(bytes).description == text)
    }

    @Test(
        arguments: [
            ("90s", 90), ("15m", 900), ("6h", 21600), ("1d", 86400), ("2w", 1_209_600), ("30", 30),
            ("0", 0), ("007s", 7), ("3155760000000s", 3_155_760_000_000),
        ] as [(String, Int64)])
    func durationsAreParsed(text: String, seconds: Int64) {
        #expect(DurationText(text: text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "s", "-1s", "+1s", "1 s", "1.5h", "1S", "1y", "1ms", "3155760000001",
        "9223372036854775807w", "99999999999999999999", "１s", "s1",
    ])
    func malformedDurationsAreRefused(text: String) {
        #expect(DurationText(text: text) == nil)
    }

    @Test(
        arguments: [
            (0, "0 s"), (42, "42 s"), (60, "1 min"), (90, "1 min 30 s"), (3600, "1 h"),
            (3601, "1 h"), (11_100, "3 h 5 min"), (86399, "23 h 59 min"), (86400, "1 d"),
            (1_036_800, "12 d"), (90_000, "1 d 1 h"), (-5, "0 s"), (.min, "0 s"),
            (.max, "106751991167300 d 15 h"),
        ] as [(Int64, String)])
    func durationsArePrintedInTwoUnits(seconds: Int64, text: String) {
        #expect(DurationText(seconds: seconds).description == text)
    }

    @Test func limitsOnRemovalsAreRead() {
        #expect(DeleteLimit(text: "0") == .count(0))
        #expect(DeleteLimit(text: "10") == .count(10))
        #expect(DeleteLimit(text: "25%") == .percent(25))
        #expect(DeleteLimit(text: "100%") == .percent(100))
    }

    @Test(arguments: ["", "%", "-1", "-0", "+1", "101%", "1.5%", "5 %", "5%%", "ten", "٣"])
    func malformedLimitsAreRefused(text: String) {
        #expect(DeleteLimit(text: text) == nil)
    }

    /// Without a limit: at most half of more than ten files, and never all for an empty list.
    @Test(arguments: [
        (0, 0, 0, true), (10, 10, 1, true), (6, 11, 5, false), (5, 11, 6, true),
        (6, 12, 6, true), (7, 12, 5, false), (1, 1, 0, false), (1, 100, 0, false),
        (0, 100, 0, true), (Int.max, Int.max, 1, false), (Int.max / 2, Int.max, 1, true),
    ])
    func theDefaultStopsWhatLooksLikeAMistake(
        removals: Int, owned: Int, resources: Int, isAllowed: Bool
    ) {
        let limit = DeleteLimit.whenOmitted
        #expect(
            limit.allows(removals: removals, owned: owned, resources: resources) == isAllowed)
    }

    @Test func aLimitThatIsGivenCountsAsGiven() {
        #expect(DeleteLimit.count(100).allows(removals: 100, owned: 100, resources: 0))
        #expect(!DeleteLimit.count(5).allows(removals: 6, owned: 1000, resources: 10))
        #expect(DeleteLimit.percent(100).allows(removals: 100, owned: 100, resources: 0))
        #expect(DeleteLimit.percent(25).allows(removals: 1, owned: 4, resources: 3))
        #expect(!DeleteLimit.percent(25).allows(removals: 2, owned: 7, resources: 5))
        #expect(!DeleteLimit.percent(0).allows(removals: 1, owned: 1000, resources: 10))
        #expect(DeleteLimit.count(0).allows(removals: 0, owned: 5, resources: 5))
    }

    @Test func percentagesAreExactAtEverySize() {
        let many = Int.max / 100 * 100
        let limit = DeleteLimit.percent(50)
        #expect(limit.allows(removals: many / 2, owned: many, resources: 1))
        #expect(!limit.allows(removals: many / 2 + 1, owned: many, resources: 1))
        #expect(DeleteLimit.percent(100).allows(removals: .max, owned: .max, resources: 0))
    }
}
