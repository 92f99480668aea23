import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Ten thousand devices under one manifest: how many of them ask in the same second.
@Suite struct FleetTests {
    private let devices = 10_000

    /// The greatest number of syncs in one second, when all devices ended their last one at once.
    private func peak(
        _ interval: WatchInterval, _ end: SyncEnd, _ generator: inout SplitMix64
    ) -> Int {
        var counts: [Int64: Int] = [:]
        for _ in 0..<devices {
            let next = interval.next(after: end, at: Instant(seconds: 0)) { limit in
                Int64.random(in: 0...max(0, limit), using: &generator)
            }
            counts[next.at.seconds, default: 0] += 1
        }
        return counts.values.max() ?? 0
    }

    @Test(arguments: [(3600, 360), (21_600, 600), (900, 90)])
    func chanceSpreadsADueFile(wait: Int64, spread: Int) {
        var generator = SplitMix64(seed: 1)
        var end = SyncEnd()
        end.nextDue = NextSync(at: Instant(seconds: wait), cause: .due("a"))
        let most = peak(WatchInterval(every: 86_400), end, &generator)
        // Twice the mean is far beyond what chance brings.
        #expect(most < 2 * devices / spread)
        #expect(peak(WatchInterval(every: 86_400, jitter: 0), end, &generator) == devices)
    }

    @Test func aCommonWindowCausesNoRush() {
        var generator = SplitMix64(seed: 2)
        var end = SyncEnd()
        end.deferral = .outsideWindow(opens: Instant(seconds: 6 * 3600))
        #expect(peak(WatchInterval(every: 86_400), end, &generator) < 2 * devices / 600)
    }

    @Test func devicesThatSawTheSameOutageDriftApart() {
        var generator = SplitMix64(seed: 3)
        let interval = WatchInterval(every: 3600)
        var times = [Int64](repeating: 0, count: devices)
        for failures in 1...6 {
            var end = SyncEnd()
            end.failures = failures
            times = times.map { time in
                interval.next(after: end, at: Instant(milliseconds: time)) {
                    Int64.random(in: 0...max(0, $0), using: &generator)
                }.at.milliseconds
            }
        }
        var counts: [Int64: Int] = [:]
        for time in times { counts[time / 1000, default: 0] += 1 }
        // After six steps they are spread over more than eight minutes.
        #expect((counts.values.max() ?? 0) < devices / 100)
    }

    /// All devices begin in the same second, have a file that is due each hour, and a server that is
    /// away from the third hour to the fourth: the most that ask in one second after the first.
    @Test func noSecondHasAFiftiethOfDevices() {
        var generator = SplitMix64(seed: 4)
        let interval = WatchInterval(every: 21_600)
        let (outage, day) = (Int64(3 * 3600)..<Int64(4 * 3600), Int64(24 * 3600))
        var counts = [Int](repeating: 0, count: Int(day))
        var fewest = Int.max
        for _ in 0..<devices {
            var now = Instant(seconds: 0)
            var (failures, syncs) = (0, 0)
            while now.seconds < day {
                counts[Int(now.seconds)] += 1
                syncs += 1
                failures = outage.contains(now.seconds) ? failures + 1 : 0
                var end = SyncEnd()
                end.failures = failures
                // A file that is due already wakes no watch: the sync has just asked for it.
                if failures == 0 {
                    end.nextDue = NextSync(at: now.advanced(bySeconds: 3600), cause: .due("a"))
                }
                now =
                    interval.next(after: end, at: now) {
                        Int64.random(in: 0...max(0, $0), using: &generator)
                    }.at
            }
            fewest = min(fewest, syncs)
        }
        #expect(counts[0] == devices)
        #expect((counts.dropFirst().max() ?? 0) < devices / 50)
        // Spreading them leaves no device behind.
        #expect(fewest >= 20)
    }
}
