@testable import MirrorKit
import Testing

@Suite struct SegmentPaceTests {
    /// Runs a transfer of four GiB whose rate follows from the number of connections, in megabytes a
    /// second; tells how many connections there were, step by step.
    private func machine(
        seconds: Int, places: Int = 100, size: Int64 = 4 << 30, isHeldBack: Bool = false,
        rate: (Int) -> Double
    ) -> [Int] {
        var pace = SegmentPace(nil)
        var (bytes, running, steps) = (Int64(0), 1, [1])
        for tick in 0..<(seconds * 20) {
            bytes += Int64(rate(running) * 50_000)
            pace.look(
                bytes: bytes, missing: max(0, size - bytes), running: running,
                isHeldBack: isHeldBack, now: Int64(tick) * 50)
            let next = min(places, pace.wanted)
            if next != running { steps.append(next) }
            running = next
        }
        return steps
    }

    @Test func connectionsAreAddedWhileTheyRaiseTheRate() {
        #expect(machine(seconds: 20) { Double(min($0, 8)) * 5 } == [1, 4, 8, 16, 8, 16, 8])
    }

    @Test func uselessConnectionsAreClosedAndTriedOnceMore() {
        #expect(machine(seconds: 20) { _ in 50 } == [1, 4, 1, 4, 1])
        #expect(machine(seconds: 20) { $0 == 1 ? 50 : 60 } == [1, 4, 1, 4, 1])
    }

    @Test func moreThanThereArePlacesAreNotCounted() {
        #expect(machine(seconds: 20, places: 6) { Double($0) * 5 } == [1, 4, 6])
    }

    @Test func threeConnectionsFillWithinHalfASecond() {
        var pace = SegmentPace(nil)
        var bytes: Int64 = 0
        var running = 1
        for tick in 0..<10 {
            bytes += Int64(min(Double(running) * 20, 60) * 50_000)
            pace.look(
                bytes: bytes, missing: (64 << 20) - bytes, running: running, isHeldBack: false,
                now: Int64(tick) * SegmentPace.look)
            running = pace.wanted
        }
        #expect(running >= 3)
    }

    @Test(arguments: [
        (99, 1 << 30, 1), (100, 1 << 30, 8), (100, 8 << 20, 8), (100, (8 << 20) - 1, 1),
    ])
    func onLongLinesTheFirstStepIsImmediate(_ time: Int64, _ missing: Int64, _ wanted: Int) {
        var pace = SegmentPace(nil)
        pace.answered(after: time, missing: missing)
        #expect(pace.wanted == wanted)
    }

    @Test func onlyFirstAnswersAddConnections() {
        var pace = SegmentPace(nil)
        pace.look(bytes: 0, missing: 1 << 30, running: 1, isHeldBack: false, now: 0)
        pace.answered(after: 300, missing: 1 << 30)
        #expect(pace.wanted == 1)
        var fixed = SegmentPace(1)
        fixed.answered(after: 300, missing: 1 << 30)
        #expect(fixed.wanted == 1)
    }

    @Test func throttledTransferGetsNoMoreConnections() {
        #expect(machine(seconds: 20, isHeldBack: true) { Double($0) * 5 } == [1])
    }

    @Test func almostFinishedTransferGetsNoMoreConnections() {
        #expect(machine(seconds: 20, size: 8 << 20) { Double($0) * 5 } == [1])
        #expect(machine(seconds: 5, size: 100 << 20) { Double($0) * 100 } == [1])
    }

    @Test(arguments: [1, 2, 16]) func aFixedNumberIsUsedUnchanged(count: Int) {
        var pace = SegmentPace(count)
        pace.look(bytes: 0, missing: 1 << 30, running: 1, isHeldBack: false, now: 5000)
        #expect(pace.wanted == count)
    }
}
