import Testing

@testable import MirrorKit

/// What events say of the whole run: transfers, bytes, rate and the time left.
@Suite struct RunTotalsTests {
    private static let source = "http://a.example/a"

    private func started(_ size: Int64?, at offset: Int64 = 0) -> TransferEvent {
        .started(source: Self.source, size: size, offset: offset)
    }

    private func progress(_ bytes: Int64, of size: Int64? = nil) -> TransferEvent {
        .progress(bytes: bytes, size: size, bytesPerSecond: 1)
    }

    @Test func thePlansNumbersComeFirst() throws {
        let rig = try RunRig(fetching: ["a", "b", "c"], sizes: ["a": 10, "b": 20])
        let totals = rig.machine.totals
        #expect(totals.transfers == 3)
        #expect(totals.ended == 0)
        #expect(totals.bytes == 0)
        #expect(totals.expectedBytes == 30)
        #expect(totals.unknownSizes == 1)
        #expect(totals.rate == 0)
        #expect(totals.secondsLeft == nil)
    }

    @Test func aLearnedSizeIsNoLongerUnknown() throws {
        var rig = try RunRig(fetching: ["a", "b"], sizes: ["b": 100])
        rig.tell(.ready)
        rig.tell(.transfer(0, started(nil)))
        #expect(rig.machine.totals.unknownSizes == 1)
        rig.tell(.transfer(0, progress(10, of: 50)))
        #expect(rig.machine.totals.unknownSizes == 0)
        #expect(rig.machine.totals.bytes == 10)
        #expect(rig.machine.totals.expectedBytes == 150)
    }

    @Test func withoutSizeATransferBroughtItsBytes() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.tell(.transfer(0, started(nil)))
        try rig.receive(0)
        rig.promote(0)
        #expect(rig.machine.totals.ended == 1)
        #expect(rig.machine.totals.bytes == 3)
        #expect(rig.machine.totals.expectedBytes == 3)
        #expect(rig.machine.totals.unknownSizes == 0)
    }

    @Test func aFailedTransferLeavesNothingExpected() throws {
        var rig = try RunRig(fetching: ["a", "b"], sizes: ["a": 10, "b": 20])
        rig.tell(.ready)
        rig.tell(.transfer(0, started(10)))
        rig.tell(.transfer(0, progress(4, of: 10)))
        let cost = TransferCost(requests: 1, bytesReceived: 5)
        rig.tell(.transfer(0, .ended(.failed(MirrorError(.stalled, "silent"), cost))))
        #expect(rig.machine.totals.ended == 1)
        #expect(rig.machine.totals.failed == 1)
        #expect(rig.machine.totals.bytes == 5)
        #expect(rig.machine.totals.expectedBytes == 25)
    }

    @Test func targetsOfOneSourceAreOneTransfer() throws {
        var rig = try RunRig(fetching: ["a", "b"], sizes: ["a": 3, "b": 3], from: "f")
        #expect(rig.machine.totals.transfers == 1)
        #expect(rig.machine.totals.expectedBytes == 3)
        rig.tell(.ready)
        try rig.receive(0)
        rig.promote(0)
        rig.promote(1)
        #expect(rig.done == ["a", "b"])
        #expect(rig.machine.totals.ended == 1)
        #expect(rig.machine.totals.bytes == 3)
    }

    @Test func presentBytesAreNotExpected() throws {
        var step = try fetch(size: 144)
        var part = PartRecord(
            name: "p", target: step.target, identity: .anonymous, total: 144,
            provenance: provenance, validators: Validators())
        part.milestones = [
            Milestone(
                length: 66,
                sha256: try #require(Digest(.sha256, bytes: Array(repeating: 7, count: 32))))
        ]
        step.means = .transfer(part: part, ifChangedSince: nil)
        var count = TransferCount(step.expectedBytes)
        #expect(count.expected == 78)
        count.take(started(144, at: 66), of: step)
        count.take(progress(100, of: 144), of: step)
        #expect(count.received == 34)
        #expect(count.expected == 78)
        count.take(.restart(cause: MirrorError(.sourceChanged, ""), attempt: 2), of: step)
        #expect(count.received == 0)
        #expect(count.expected == 144)
    }

    @Test func aConditionalRequestIsExpectedToBringNothing() throws {
        var step = try fetch(size: nil)
        step.means = .transfer(
            part: nil,
            ifChangedSince: LocalVersion(
                provenance: provenance, validators: Validators(entityTag: EntityTag("\"1\"")),
                size: 9,
                sha256: try #require(Digest(.sha256, bytes: Array(repeating: 7, count: 32)))))
        var count = TransferCount(step.expectedBytes)
        #expect(count.expected == 0)
        count.take(started(nil), of: step)
        #expect(count.expected == 0)
        count.take(progress(5, of: 9), of: step)
        #expect(count.expected == 9)
    }

    @Test func theRecentRateGivesTheTimeLeft() throws {
        var rig = try RunRig(fetching: ["a"], sizes: ["a": 100_000])
        rig.tell(.ready)
        rig.tell(.transfer(0, started(100_000)))
        rig.tell(.transfer(0, progress(1, of: 100_000)))
        // Slow for three seconds, then fast for seven.
        for second in Int64(1)...10 {
            rig.time = second * 1000
            let bytes = second <= 3 ? second * 100 : 300 + (second - 3) * 10_000
            rig.tell(.transfer(0, progress(bytes, of: 100_000)))
        }
        #expect(rig.machine.totals.rate == 10_000)
        #expect(rig.machine.totals.bytes == 70_300)
        #expect(rig.machine.totals.secondsLeft == 3)
    }

    @Test func withoutSizesTransfersGiveTheTimeLeft() throws {
        let names = (0..<40).map { String($0 + 100) }
        var rig = try RunRig(fetching: names)
        rig.tell(.ready)
        for position in 0..<20 {
            rig.time = Int64(position) * 100
            rig.tell(.transfer(position, started(nil)))
            try rig.receive(position)
            rig.promote(position)
        }
        rig.time = 2000
        rig.tell(.tick)
        #expect(rig.machine.totals.ended == 20)
        #expect(rig.machine.totals.secondsLeft == 2)
    }

    @Test func aPauseDoesNotSlowTheRate() throws {
        var rig = try RunRig(fetching: ["a"], sizes: ["a": 100_000])
        rig.tell(.ready)
        rig.tell(.transfer(0, started(100_000)))
        rig.tell(.transfer(0, progress(1000, of: 100_000)))
        rig.time = 60_000
        rig.tell(.transfer(0, progress(2000, of: 100_000)))
        #expect(rig.machine.totals.rate == 0)
        rig.time = 61_000
        rig.tell(.transfer(0, progress(3000, of: 100_000)))
        #expect(rig.machine.totals.rate == 1000)
    }

    private var provenance: Provenance {
        Provenance(source: SourceKey(text: "a"), answeredBy: Self.source)
    }

    private func fetch(size: Int64?) throws -> Step {
        Step(
            target: try Target("Caches/a"), manifest: 0, resource: 0, kind: .fetch,
            reason: .missing, means: .transfer(part: nil, ifChangedSince: nil),
            existing: .nothing, size: size)
    }
}
