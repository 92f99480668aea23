import Testing

@testable import MirrorKit
@testable import mirror

/// How many progress events a script gets.
@Suite struct ProgressLimitTests {
    @Test func tenASecondAtMost() {
        var limit = ProgressLimit()
        var admitted: [Int64: Int] = [:]
        for milliseconds in stride(from: Int64(0), to: 5000, by: 7) {
            let time = Instant(milliseconds: milliseconds)
            if limit.admits(eventAt: time) { admitted[time.seconds, default: 0] += 1 }
        }
        #expect(admitted == [0: 10, 1: 10, 2: 10, 3: 10, 4: 10])
    }
}
