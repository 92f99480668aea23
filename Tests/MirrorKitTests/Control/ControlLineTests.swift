@testable import MirrorKit
import Testing

/// Requests, replies and followed events as lines.
@Suite struct ControlLineTests {
    static let target = (try? Target("Documents/ä \"b\".bin")).map { [$0] } ?? []

    @Test(
        arguments: [
            ControlRequest(.pause), ControlRequest(.pause, target, isThorough: true),
            ControlRequest(.resume, target), ControlRequest(.resume),
            ControlRequest(.cancel, target, isThorough: true), ControlRequest(.cancel),
            ControlRequest(.describe), ControlRequest(.follow),
        ])
    func aRequestIsReadAsItWasSent(request: ControlRequest) throws {
        #expect(request.line.last == UInt8(ascii: "\n"))
        #expect(try ControlRequest(line: Array(request.line.dropLast())) == request)
    }

    @Test(arguments: [
        ("", "the request is no JSON"), ("[]", "the request is of another version"),
        (#"{"v":2,"do":"pause"}"#, "the request is of another version"),
        (#"{"v":1,"do":"format"}"#, "this mirror cannot format"),
        (#"{"v":1,"do":"pause","targets":["/etc/passwd"]}"#, "a target is none"),
        (#"{"v":1,"do":"pause","targets":[7]}"#, "a target is none"),
        (#"{"v":1,"do":"pause"}"#, "targets is no list"),
        (#"{"v":1,"do":"resume","targets":null}"#, "targets is no list"),
        (#"{"v":1,"do":"cancel","targets":"Caches/a","discard":true}"#, "targets is no list"),
        (#"{"v":1,"do":"cancel","targets":[],"discard":1}"#, "discard is neither true nor false"),
    ])
    func anInvalidRequestIsRefusedWithItsReason(line: String, words: String) {
        let error = #expect(throws: MirrorError.self) {
            try ControlRequest(line: Array(line.utf8))
        }
        #expect(error?.message == words)
    }

    @Test func manyTargetsGoIntoReadableRequests() throws {
        let targets = try (0..<5000).map { try Target("Caches/\"tiles\"/\($0).png") }
        let pieces = ControlRequest(.cancel, targets, isThorough: true).pieces
        #expect(pieces.flatMap(\.targets) == targets)
        #expect(pieces.allSatisfy { $0.line.count < ControlRequest.longestLine })
        let everything = ControlRequest(.pause, isThorough: true)
        #expect(everything.pieces == [everything])
    }

    @Test func repliesAreReadAsTheyWereSent() {
        var job = JobDescription(
            process: 7, verb: "watch", root: "/r ö", isRunning: true,
            since: Instant(milliseconds: 1_795_233_360_123))
        job.isPaused = true
        job.totals.transfers = 5
        job.totals.bytes = 1 << 40
        job.totals.secondsLeft = 9
        var resting = job
        resting.isRunning = false
        resting.totals = RunTotals()
        resting.until = Instant(milliseconds: 1_795_233_999_000)
        let replies: [ControlReply] = [
            .done(unknown: []), .done(unknown: Self.target), .refused("no run"), .job(job),
            .job(resting),
        ]
        for reply in replies {
            #expect(ControlReply(line: Array(reply.line.dropLast())) == reply)
        }
    }

    @Test func aFollowedEventKeepsWhatADisplayShows() throws {
        let target = try #require(Self.target.first)
        var totals = RunTotals()
        totals.transfers = 3
        totals.ended = 2
        let event = Event(
            run: "01", time: Instant(milliseconds: 5),
            body: .progress(Event.Progress(target: target, bytes: 4, size: 9, rate: 2)),
            totals: totals)
        var json = JSONWriter()
        event.write(to: &json, alwaysWithTotals: true)
        let read = try #require(Event(line: json.take()))
        #expect(read.totals == totals)
        guard case .progress(let progress) = read.body else {
            Issue.record("\(read.body)")
            return
        }
        #expect(
            (progress.target, progress.bytes, progress.size, progress.rate) == (target, 4, 9, 2))
    }
}
