@testable import MirrorKit
import Testing

@testable import mirror

/// The line of progress in a pipe, from the totals that events carry.
@Suite struct PlainProgressTests {
    private func total(_ change: (inout RunTotals) -> Void) throws -> String {
        var totals = RunTotals()
        change(&totals)
        var layout = FrameLayout()
        layout.board.apply(
            Event(
                run: "", time: Instant(milliseconds: 0),
                body: .removed(
                    .init(target: try Target("Caches/a"), reason: .missing, size: nil)),
                totals: totals))
        return layout.plainTotal
    }

    @Test func theTotalSaysTransfersAndBytes() throws {
        let line = try total {
            $0.transfers = 1
            $0.bytes = 34
            $0.expectedBytes = 78
        }
        #expect(line == "0 of 1 transfer, 34 B of 78 B")
    }

    @Test func unknownSizesAreCounted() throws {
        let line = try total {
            $0.transfers = 3
            $0.ended = 1
            $0.bytes = 10
            $0.expectedBytes = 150
            $0.unknownSizes = 1
        }
        #expect(line == "1 of 3 transfers, 10 B of 150 B + 1 of unknown size")
    }

    @Test func failuresRateAndTimeLeftFollow() throws {
        let line = try total {
            $0.transfers = 3
            $0.ended = 2
            $0.failed = 1
            $0.bytes = 10
            $0.expectedBytes = 4096
            $0.rate = 2048
            $0.secondsLeft = 90
        }
        #expect(line == "2 of 3 transfers, 10 B of 4.0 KiB, 1 failed, 2.0 KiB/s, 1 min 30 s left")
    }
}
