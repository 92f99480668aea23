import Testing

@testable import MirrorKit

/// A host is simulated: so much comes in with so many transfers at once. The bodies are long: the
/// opening rounds find nothing out, and the number is measured.
@Suite struct HostPaceTests {
    /// A pace that measures.
    private func measuring(_ ceiling: Int) -> HostPace {
        var pace = HostPace(ceiling: ceiling, now: -10_000)
        pace.connected(after: 10, isBrief: false, now: -10_000)
        pace.tick(now: 0, isFull: true)
        return pace
    }

    /// Runs windows against a host, and gives the limit after each.
    private func limits(
        _ pace: inout HostPace, windows: Int, isFull: Bool = true,
        bytesPerWindow: (Int) -> Int, endsPerWindow: (Int) -> Int = { _ in 0 }
    ) -> [Int] {
        var now: Int64 = 0
        pace.tick(now: now, isFull: isFull)
        return (0..<windows).map { _ in
            pace.received(bytesPerWindow(pace.limit))
            for _ in 0..<endsPerWindow(pace.limit) { pace.ended(isFull: isFull, now: now) }
            now += HostPace.window
            pace.tick(now: now, isFull: isFull)
            return pace.limit
        }
    }

    @Test func aFullLineGetsNoFurtherConnection() {
        var pace = measuring(64)
        let limits = limits(&pace, windows: 200, bytesPerWindow: { _ in 10_000_000 })
        #expect(limits.max() == 16)
        #expect(limits.last.map { $0 <= 2 } == true)
    }

    @Test func theNumberGrowsWithTheRate() {
        var pace = measuring(64)
        let limits = limits(
            &pace, windows: 6, bytesPerWindow: { _ in 0 }, endsPerWindow: { 10 * min($0, 40) })
        #expect(limits == [16, 32, 32, 32, 32, 32])
    }

    @Test func paceSettlesWhereMoreConnectionsBringNothing() {
        var pace = measuring(64)
        let limits = limits(&pace, windows: 400, bytesPerWindow: { 1_000_000 * min($0, 12) })
        #expect(limits.suffix(200).allSatisfy { (9...20).contains($0) })
    }

    @Test func aWindowInWhichNobodyWaitedSaysNothing() {
        var pace = measuring(64)
        let limits = limits(
            &pace, windows: 20, isFull: false, bytesPerWindow: { 1_000_000 * $0 })
        #expect(Set(limits) == [HostPace.start])
    }

    @Test func anOverloadedHostGetsHalfForAWhile() {
        var pace = measuring(64)
        _ = limits(&pace, windows: 4, bytesPerWindow: { 1_000_000 * $0 })
        let before = pace.limit
        pace.backOff(requestBegan: 0, now: 0)
        #expect(pace.limit == before / 2)
        let after = limits(
            &pace, windows: HostPace.cooldownWindows - 1, bytesPerWindow: { 1_000_000 * $0 })
        #expect(Set(after) == [before / 2])
        for time in Int64(1)...20 { pace.backOff(requestBegan: time, now: time) }
        #expect(pace.limit == 1)
    }

    @Test(arguments: [1, 2, 3, 5]) func paceStaysWithinItsBounds(most: Int) {
        var pace = measuring(most)
        let limits = limits(&pace, windows: 300, bytesPerWindow: { 1_000_000 * $0 })
        #expect(limits.allSatisfy { (1...most).contains($0) })
        #expect(limits.contains(most))
    }
}

/// What is remembered of a host.
@Suite struct LikedTests {
    @Test func aRunBeginsWhereTheOneBeforeEnded() {
        #expect(HostPace(ceiling: 128, learnedLimit: 32, now: 0).limit == 32)
        #expect(HostPace(ceiling: 16, learnedLimit: 32, now: 0).limit == 16)
        #expect(HostPace(ceiling: 128, learnedLimit: 99, now: 0).limit == HostPace.mostConnections)
        #expect(HostPace(ceiling: 128, learnedLimit: 0, now: 0).limit == 1)
        #expect(HostPace(ceiling: 128, now: 0).limit == HostPace.start)
    }

    @Test func unmeasuredPaceIsNotRemembered() {
        var pace = HostPace(ceiling: 128, now: 0)
        #expect(pace.learnedLimit == nil)
        pace.ended(isFull: false, now: 5)
        #expect(pace.learnedLimit == nil)
    }

    @Test func aNumberFromSilenceIsNotRemembered() {
        var pace = HostPace(ceiling: 128, now: 0)
        pace.connected(after: 0, isBrief: true, now: 0)
        pace.passSilence(room: 128, hasRead: true, now: HostPace.silence)
        #expect(pace.limit == HostPace.mostUnanswered)
        #expect(pace.learnedLimit == nil)
    }

    @Test func aHostThatComplainedStartsLowNextTime() {
        var pace = HostPace(ceiling: 128, now: 0)
        pace.backOff(requestBegan: 0, now: 10)
        #expect(pace.learnedLimit == HostPace.start / 2)
    }

    @Test func hostsAreReadAsTheyAreWritten() throws {
        for text in ["http://a.example/x", "https://[::1]:8443/", "http://127.0.0.1:1/"] {
            let host = Host(try SourceURL(text))
            #expect(Host(host.description) == host)
        }
        for text in ["", "a.example", "a.example:", ":80", "a:99999", "a:b"] {
            #expect(Host(text) == nil)
        }
    }
}
