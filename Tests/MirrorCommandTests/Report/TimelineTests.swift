import Testing

@testable import MirrorKit
@testable import mirror

/// Bars of a run's transfers: each where it was, none over another, and never too many.
@Suite struct TimelineTests {
    /// A decision whose transfer took place between these milliseconds.
    static func transfer(
        _ began: Int64, _ ended: Int64, host: String = "a", bytes: Int64 = 10, failed: Bool = false
    ) throws -> PastDecision {
        var decision = PastDecision(
            target: try Target("Caches/\(host)-\(began)"), step: .fetch, reason: "", because: "")
        decision.outcome = failed ? .failed : .fetched
        decision.bytesReceived = bytes
        decision.source = "https://\(host).example/f"
        decision.trace = TransferTrace(began: began, ended: ended)
        return decision
    }

    static func log(_ decisions: [PastDecision]) -> TransferLog {
        var log = TransferLog()
        for decision in decisions { log.add(decision) }
        return log
    }

    @Test func simultaneousTransfersLieInHostRows() throws {
        let timeline = Self.log([
            try Self.transfer(500, 900), try Self.transfer(0, 400), try Self.transfer(100, 700),
            try Self.transfer(50, 60, host: "b", failed: true),
        ]).timeline(lasting: 1000)
        #expect(timeline.lanes.map(\.host) == ["https://a.example", "https://b.example"])
        let rows = timeline.lanes[0].rows.map { $0.map { [$0.began, $0.ended] } }
        #expect(rows == [[[0, 400], [500, 900]], [[100, 700]]])
        #expect(timeline.lanes[0].bytes == 30)
        #expect(timeline.lanes.map(\.failed) == [0, 1])
        #expect(timeline.length == 1000)
    }

    @Test func aLateTransferLengthensTheTimeline() throws {
        #expect(Self.log([try Self.transfer(0, 400)]).timeline(lasting: 0).length == 400)
    }

    @Test func shortTransfersAreOneCountedBar() throws {
        let decisions = try (0..<1000).map { number in
            try Self.transfer(Int64(number) * 100, Int64(number) * 100 + 90, failed: number == 7)
        }
        let timeline = Self.log(decisions).timeline(lasting: 100_000)
        let bars = timeline.lanes[0].rows.joined()
        #expect(bars.count == 1)
        #expect(bars.first?.transfers == 1000)
        #expect(bars.first?.failed == 1)
        #expect(bars.first?.bytes == 10_000)
    }

    @Test func aHundredThousandTransfersMakeFewBars() throws {
        let decisions = try (0..<100_000).map { number -> PastDecision in
            let began = Int64(number * 7919 % 600_000)
            return try Self.transfer(
                began, began + Int64(number * 31 % 4000), host: "\(number % 40)")
        }
        let timeline = Self.log(decisions).timeline(lasting: 1)
        #expect(timeline.lanes.count == Timeline.mostLanes)
        #expect(timeline.hostsLeftOut == 28)
        for lane in timeline.lanes {
            #expect(lane.rows.count <= Timeline.mostRows)
            for row in lane.rows {
                #expect(row.count <= Int(Timeline.steps) * 2)
                #expect(zip(row, row.dropFirst()).allSatisfy { $0.ended <= $1.began })
            }
            #expect(lane.rows.joined().reduce(0) { $0 + $1.transfers } == lane.transfers)
        }
    }

    @Test func transfersBeyondTheRowsShareThem() throws {
        let decisions = try (0..<100).map { try Self.transfer(Int64($0), 1000 + Int64($0)) }
        let lane = try #require(Self.log(decisions).timeline(lasting: 2000).lanes.first)
        #expect(lane.rows.count == Timeline.mostRows)
        // Bars that would lie over each other are one, so that no row gets more of them.
        #expect(lane.rows.allSatisfy { $0.count == 1 })
        #expect(lane.rows.joined().reduce(0) { $0 + $1.transfers } == 100)
    }

    @Test func decisionWithoutTimesIsCountedWhereBytesCame() throws {
        var old = try Self.transfer(0, 1)
        old.trace = nil
        var kept = old
        kept.bytesReceived = 0
        let log = Self.log([old, kept])
        #expect(log.isEmpty)
        #expect(log.untimed == 1)
    }

    /// A decision whose requests failed at these times, each before a wait.
    private func retried(
        _ began: Int64, _ ended: Int64, _ failures: [(at: Int64?, wait: Int64)], bytes: Int64 = 10
    ) throws -> PastDecision {
        var decision = try Self.transfer(began, ended, bytes: bytes)
        decision.failures = failures.map {
            .init(code: .httpStatus, message: "503", wait: $0.wait, began: $0.at, status: 503)
        }
        return decision
    }

    @Test(
        arguments: [
            ([(100, 200)], [100..<300], [0..<100, 300..<500]),
            // The next request failed before the planned end of the wait.
            ([(100, 900), (300, 50)], [100..<300, 300..<350], [0..<100, 350..<500]),
            ([(100, 900)], [100..<500], [0..<100]),
            ([(0, 500)], [0..<500], [500..<500]), ([(100, 0)], [], [0..<500]),
            ([(nil, 200)], [], [0..<500]), ([], [], [0..<500]),
        ] as [([(at: Int64?, wait: Int64)], [Range<Int64>], [Range<Int64>])])
    func waitsAreNoTransfer(
        failures: [(at: Int64?, wait: Int64)], waits: [Range<Int64>], active: [Range<Int64>]
    ) throws {
        let bar = try #require(Self.log([try retried(0, 500, failures)]).entries.first?.bar)
        #expect(bar.waits == waits)
        #expect(bar.active == active)
        #expect(bar.waited == waits.reduce(0) { $0 + $1.upperBound - $1.lowerBound })
    }

    @Test func waitsOfSimultaneousTransfersAreNotDrawn() throws {
        let decisions = try (0..<100).map { try retried(Int64($0), 1000, [(500, 100)]) }
        let lane = try #require(Self.log(decisions).timeline(lasting: 1000).lanes.first)
        for bar in lane.rows.joined() { #expect(bar.waits.isEmpty == (bar.transfers > 1)) }
    }

    @Test func waitsTooShortToBeSeenAreNotDrawn() throws {
        let log = Self.log([try retried(0, 60_000, [(100, 99), (5000, 100)])])
        let bars = log.timeline(lasting: 60_000).lanes.flatMap(\.rows).joined()
        #expect(bars.flatMap(\.waits) == [5000..<5100])
    }

    @Test func noBytesArriveDuringWaits() throws {
        let rates = Self.log([try retried(0, 1200, [(200, 800)], bytes: 400)])
            .throughput(lasting: 1200).rates
        #expect(rates[..<20].allSatisfy { $0 == 1000 })
        #expect(rates[20..<100].allSatisfy { $0 == 0 })
        #expect(rates[100...].allSatisfy { $0 == 1000 })
    }

    @Test func longestTransfersComeFirst() throws {
        let log = Self.log([
            try Self.transfer(0, 10), try Self.transfer(5, 500), try Self.transfer(20, 100),
        ])
        #expect(log.longest(2).map(\.bar.began) == [5, 20])
    }

    @Test func bytesSpreadOverTheTransfersTime() throws {
        let throughput = Self.log([
            try Self.transfer(0, 500, bytes: 1000), try Self.transfer(500, 510, bytes: 60),
        ]).throughput(lasting: 1200)
        #expect(throughput.bucketLength == 10)
        #expect(throughput.rates.count == 120)
        #expect(throughput.rates[..<50].allSatisfy { $0 == 2000 })
        #expect(throughput.rates[50] == 6000)
        #expect(throughput.rates[51...].allSatisfy { $0 == 0 })
        #expect(throughput.peak == 6000)
        #expect(throughput.peakTime == 500)
        #expect(throughput.mean == 883)
    }

    @Test func noByteIsLostAtTheEdges() throws {
        for (began, ended) in [(Int64(0), Int64(0)), (999, 1000), (0, 1000), (333, 777)] {
            let throughput = Self.log([try Self.transfer(began, ended, bytes: 1_000_000)])
                .throughput(lasting: 1000)
            let sum = throughput.rates.reduce(0) { $0 + $1 * throughput.bucketLength } / 1000
            #expect(abs(sum - 1_000_000) < 100, "\(began) \(ended)")
        }
    }

    @Test(
        arguments: [
            (1, ["0", "1 ms"]), (450, ["0", "0.1 s", "0.2 s", "0.3 s", "0.4 s"]),
            (10_700, ["0", "2 s", "4 s", "6 s", "8 s", "10 s"]),
            (240_000, ["0", "1 min", "2 min", "3 min", "4 min"]),
            (86_400_000 * 12, ["0", "3 d", "6 d", "9 d", "12 d"]),
        ] as [(Int64, [String])])
    func axisHasFewRoundMarks(length: Int64, labels: [String]) {
        let axis = TimeAxis(length)
        #expect(axis.ticks.map(axis.label) == labels)
    }
}
