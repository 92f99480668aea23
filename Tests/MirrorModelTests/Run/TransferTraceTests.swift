import Testing

@testable import MirrorKit

/// The times of transfers, and what their answers showed.
@Suite struct TransferTraceTests {
    private func ended(_ rig: RunRig) -> [Event.Done] {
        rig.asked.compactMap { if case .tell(.done(let done)) = $0 { done } else { nil } }
    }

    private func started() -> TransferEvent {
        .started(source: "http://a.example/f", size: nil, offset: 0)
    }

    @Test func timesAreOfTransfersNotPromotions() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.time = 40
        rig.tell(.transfer(0, started()))
        rig.time = 90
        try rig.receive(0)
        rig.time = 500
        rig.promote(0)
        #expect(ended(rig).first?.trace == TransferTrace(began: 40, ended: 90))
    }

    @Test func failureHasTimesToo() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        rig.time = 7
        rig.tell(.transfer(0, started()))
        rig.time = 9
        rig.tell(.transfer(0, .ended(.failed(MirrorError(.httpStatus, "404"), TransferCost()))))
        let failed = rig.asked.compactMap { action -> Event.Failed? in
            if case .tell(.failed(let failed)) = action { failed } else { nil }
        }
        #expect(failed.first?.trace == TransferTrace(began: 7, ended: 9))
    }

    @Test func transferThatNeverBeganHasNoTimes() throws {
        var rig = try RunRig(fetching: ["a"])
        rig.tell(.ready)
        try rig.receive(0)
        rig.promote(0)
        #expect(ended(rig).map(\.trace) == [nil])
    }

    /// What a transfer's answer says of ranges when its bytes are accepted.
    private func ranges(_ machine: inout TransferMachine) -> RangeSupport? {
        let bytes = [TransferMachineTests.right].compactMap { $0 }
        guard case .accept(_, let answer) = machine.checked(size: 10, digests: bytes).next else {
            return nil
        }
        return answer.ranges
    }

    private func answered(
        _ status: Int = 200, part: Bool = false, _ fields: (String, String)...
    ) throws -> RangeSupport? {
        let record = try TransferMachineTests.part()
        var machine = try TransferMachineTests.machine(part: part ? (record, 4) : nil)
        _ = machine.begin()
        let head = ResponseHead(
            status: status, fields + [("Content-Length", status == 206 ? "6" : "10")])
        _ = machine.answered(head, at: TransferMachineTests.now)
        _ = machine.bodyEnded(length: 10)
        return ranges(&machine)
    }

    @Test func localFilesHaveNoProtocol() throws {
        let provenance = Provenance(source: SourceKey(text: "x"), answeredBy: "x")
        for (text, version) in [("file:///a", nil), ("http://a.example/", .http11)]
            as [(String, HTTPVersion?)]
        {
            let answer = Answer(
                TransferMachineTests.whole, provenance: provenance, url: try SourceURL(text),
                at: TransferMachineTests.now)
            #expect(answer.version == version)
        }
    }

    @Test func whatTheServerSaysOfRangesIsKept() throws {
        #expect(try answered(200, ("Accept-Ranges", "Bytes")) == .offered)
        #expect(try answered(200, ("Accept-Ranges", "none")) == .refused)
        #expect(try answered(200) == .unknown)
    }

    @Test func aServersRangesCountMoreThanClaims() throws {
        let range = ("Content-Range", "bytes 4-9/10")
        #expect(try answered(206, part: true, range, ("ETag", "\"x\"")) == .honoured)
        let offer = ("Accept-Ranges", "bytes")
        #expect(try answered(200, part: true, offer, ("ETag", "\"x\"")) == .refused)
        // Another version: the whole file is the right answer to If-Range.
        #expect(try answered(200, part: true, offer, ("ETag", "\"y\"")) == .offered)
    }
}
