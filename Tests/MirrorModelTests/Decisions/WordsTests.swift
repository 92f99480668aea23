@testable import MirrorKit
import Testing

/// Numbers with their nouns, and times as people read them.
@Suite struct WordsTests {
    @Test(arguments: [(0, "0 files"), (1, "1 file"), (2, "2 files"), (21, "21 files")])
    func aNounAgreesWithItsNumber(count: Int, text: String) {
        #expect(Counted(count, "file").description == text)
        #expect(
            Counted(Int64(count), "copy", plural: "copies").description.hasSuffix(
                count == 1 ? "copy" : "copies"))
        #expect(Counted.verb(count, "is", "are") == (count == 1 ? "is" : "are"))
    }

    /// 2026-11-21T12:00:00Z, two hours ahead of UTC.
    private let clock = LocalClock(
        now: Instant(seconds: 1_795_262_400), offset: LocalOffset { _ in 7200 })

    @Test(
        arguments: [
            (0, "14:00, 0 s ago"), (-7200, "12:00, 2 h ago"), (900, "14:15, in 15 min"),
            (-50_400, "00:00, 14 h ago"), (-50_460, "2026-11-20 23:59, 14 h 1 min ago"),
            (43_200, "2026-11-22 02:00, in 12 h"),
        ] as [(Int64, String)])
    func aTimeIsLocalAndHasItsDistance(seconds: Int64, text: String) {
        #expect(clock.description(of: clock.now.advanced(bySeconds: seconds)) == text)
    }

    @Test func reasonsHaveLocalTimesOrUTC() {
        let reason = Reason.fresh(until: clock.now.advanced(bySeconds: 900))
        #expect(reason.because(on: clock) == "fresh until 14:15, in 15 min")
        #expect(reason.because == "fresh until 2026-11-21T12:15:00.000Z")
        #expect(Reason.missing.because(on: clock) == "not there")
    }

    @Test func aLineNamesItsTargetOnce() throws {
        let target = try Target("Caches/a")
        let error = MirrorError(.stalled, "Caches/a: nothing came for 30 s.", target: target)
        #expect(error.message(without: target) == "nothing came for 30 s.")
        #expect(
            MirrorError(.stalled, "Caches/ab: x").message(without: target) == "Caches/ab: x")
    }
}
