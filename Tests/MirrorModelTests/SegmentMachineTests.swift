@testable import MirrorKit
import Testing

/// What becomes of the answers to further connections: the file has 10 bytes and the tag `"x"`, and
/// bytes 4 to 7 are asked for.
@Suite struct SegmentMachineTests {
    typealias Machine = TransferMachineTests

    private func receiving(
        _ names: [String] = ["a"], pinned: Bool = false, head: ResponseHead = Machine.whole
    ) throws -> TransferMachine {
        var machine = try Machine.machine(names, pinned: pinned)
        _ = machine.begin()
        _ = machine.answered(head, at: Machine.now)
        return machine
    }

    private func verdict(
        _ status: Int, _ fields: (String, String)..., of range: Range<Int64> = 4..<8,
        pinned: Bool = false, source: Int = 0
    ) throws -> String {
        let machine = try receiving(["a", "b"], pinned: pinned)
        let made = machine.segment(of: range, from: source)
        var segment = try #require(made)
        switch segment.answered(ResponseHead(status: status, fields), at: Machine.now) {
        case .receive(let reception):
            return "receive \(reception.offset)-\(reception.end.map(String.init) ?? "")"
        case .follow: return "follow " + segment.plan.url.description
        case .giveBack(_, let hold): return "give back" + (hold.map { " \($0)" } ?? "")
        case .changed: return "changed"
        }
    }

    @Test func segmentAsksForItsRangeWithIfRange() throws {
        let made = try receiving().segment(of: 4..<8, from: 0)
        let segment = try #require(made)
        let fields = segment.plan.fields.map { "\($0.name): \($0.value)" }
        #expect(fields == ["Range: bytes=4-7", "If-Range: \"x\""])
        let mirror = try #require(
            try receiving(["a", "b"], pinned: true).segment(of: 4..<8, from: 1))
        #expect(mirror.plan.fields.map(\.name) == ["Range"])
    }

    /// Under a pin a mirror's range is followed wherever it leads; what goes to the mirror stays there.
    @Test func credentialsStayBehindOnASegmentsRedirect() throws {
        var segment = try #require(
            try receiving(["a", "b"], pinned: true).segment(of: 4..<8, from: 1))
        var carried = [segment.plan.carriesCredentials]
        for location in ["/g", "https://c.example/g", "/h", "https://b.example/f", "/g"] {
            let head = ResponseHead(status: 302, [("Location", location)])
            guard case .follow = segment.answered(head, at: Machine.now) else { break }
            carried.append(segment.plan.carriesCredentials)
            #expect(segment.plan.fields.map(\.value) == ["bytes=4-7"])
        }
        #expect(carried == [true, true, false, false, false, false])
    }

    @Test func aRangeTooLongIsGivenBack() throws {
        let tag = ("ETag", "\"x\"")
        #expect(try verdict(206, ("Content-Range", "bytes 4-7/10"), tag) == "receive 4-8")
        #expect(try verdict(206, ("Content-Range", "bytes 4-8/10"), tag) == "give back")
        #expect(try verdict(206, ("Content-Range", "bytes 3-7/10"), tag) == "give back")
    }

    /// A 200 begins where the range does, but it would not end there.
    @Test func aRangeFromTheStartIsARange() throws {
        let (tag, length) = (("ETag", "\"x\""), ("Content-Length", "10"))
        let made = try receiving().segment(of: 0..<4, from: 0)
        let fields = try #require(made).plan.fields.map { "\($0.name): \($0.value)" }
        #expect(fields == ["Range: bytes=0-3", "If-Range: \"x\""])
        let start = ("Content-Range", "bytes 0-3/10")
        #expect(try verdict(206, start, tag, of: 0..<4) == "receive 0-4")
        let shorter = ("Content-Range", "bytes 0-1/10")
        #expect(try verdict(206, shorter, tag, of: 0..<4) == "receive 0-2")
        #expect(try verdict(206, ("Content-Range", "bytes 1-3/10"), tag, of: 0..<4) == "give back")
        #expect(try verdict(200, tag, length, of: 0..<4) == "give back")
        #expect(try verdict(200, tag, length, of: 0..<10) == "give back")
        #expect(try verdict(206, start, of: 0..<4, pinned: true, source: 1) == "receive 0-4")
        #expect(try verdict(200, length, of: 0..<4, pinned: true, source: 1) == "give back")
    }

    @Test func aPassingFailureKeepsItsRetryAfter() throws {
        #expect(try verdict(503, ("Retry-After", "7")) == "give back 7")
        #expect(try verdict(429, ("Retry-After", "0"), pinned: true, source: 1) == "give back 0")
        #expect(try verdict(503) == "give back")
    }

    @Test func segmentAcceptsItsRangeOrAShorterOne() throws {
        let tag = ("ETag", "\"x\"")
        #expect(try verdict(206, ("Content-Range", "bytes 4-7/10"), tag) == "receive 4-8")
        #expect(try verdict(206, ("Content-Range", "bytes 4-5/10"), tag) == "receive 4-6")
    }

    @Test func segmentGivesBackItsRangeAfterAnotherResponse() throws {
        let tag = ("ETag", "\"x\"")
        let length = ("Content-Length", "10")
        #expect(try verdict(206, ("Content-Range", "bytes 4-9/10"), tag) == "give back")
        #expect(try verdict(206, ("Content-Range", "bytes 5-7/10"), tag) == "give back")
        #expect(try verdict(206, ("Content-Range", "bytes 4-7/*"), tag) == "give back")
        #expect(try verdict(206, tag) == "give back")
        #expect(try verdict(206, ("Content-Range", "bytes 4-7/10")) == "give back")
        #expect(
            try verdict(206, ("Content-Range", "bytes 4-7/10"), ("ETag", "\"y\"")) == "give back")
        #expect(try verdict(200, tag, length) == "give back")
        #expect(try verdict(200, ("ETag", "W/\"y\""), length) == "give back")
        #expect(try verdict(200, ("Content-Type", "text/html")) == "give back")
        #expect(try verdict(416, ("Content-Range", "bytes */10")) == "give back")
        #expect(try verdict(304, tag) == "give back")
        #expect(try verdict(404) == "give back")
        #expect(try verdict(429, ("Retry-After", "7")) == "give back 7")
        #expect(try verdict(302, ("Location", "/g")) == "give back")
        #expect(
            try verdict(206, ("Content-Range", "bytes 4-7/10"), tag, ("Content-Encoding", "br"))
                == "give back")
    }

    @Test func anotherVersionIsRecognised() throws {
        #expect(try verdict(200, ("ETag", "\"y\""), ("Content-Length", "10")) == "changed")
        #expect(
            try verdict(206, ("Content-Range", "bytes 4-7/11"), ("ETag", "\"x\"")) == "changed")
    }

    @Test func aDoubtfulWholeShowsNoOtherVersion() throws {
        let length = ("Content-Length", "4")
        #expect(try verdict(200, ("ETag", "\"x\""), length) == "give back")
        #expect(try verdict(200, length) == "give back")
        #expect(
            try verdict(200, ("ETag", "\"y\""), length, ("Content-Range", "bytes 4-7/10"))
                == "give back")
    }

    @Test func underAPinOnlyTheSizeCounts() throws {
        let other = ("ETag", "\"y\"")
        let range = ("Content-Range", "bytes 4-7/10")
        #expect(try verdict(206, range, other, pinned: true, source: 1) == "receive 4-8")
        #expect(
            try verdict(
                206, ("Content-Range", "bytes 4-7/11"), other, pinned: true, source: 1)
                == "give back")
        #expect(
            try verdict(200, other, ("Content-Length", "10"), pinned: true, source: 1)
                == "give back")
        #expect(
            try verdict(302, ("Location", "https://c.example/f"), pinned: true, source: 1)
                == "follow https://c.example/f")
    }

    @Test func furtherConnectionsNeedTagOrPin() throws {
        #expect(try receiving(["a", "b"]).segmentSources == [0])
        #expect(try receiving(["a", "b"], pinned: true).segmentSources == [0, 1])
        let length = ("Content-Length", "10")
        for fields in [
            [("ETag", "W/\"x\""), length], [length], [("ETag", "\"x\"")],
            [("ETag", "\"x\""), length, ("Accept-Ranges", "none")],
        ] {
            #expect(try receiving(head: ResponseHead(status: 200, fields)).segmentSources.isEmpty)
        }
    }

    @Test func theLastGapIsAskedForAlone() throws {
        var machine = try receiving()
        machine.know(gapEnd: 8)
        #expect(
            Machine.words(machine.segmentsEnded(length: 4))
                == "a; Range: bytes=4-7; If-Range: \"x\"")
        machine.know(gapEnd: 10)
        _ = machine.answered(Machine.rest, at: Machine.now)
        #expect(Machine.words(machine.segmentsEnded(length: 10)) == "check")
    }

    /// The bytes beyond stay, because the answer ends before them.
    @Test func aMissingStartIsAskedForAlone() throws {
        var machine = try receiving()
        machine.know(gapEnd: 4)
        let again = "a; Range: bytes=0-3; If-Range: \"x\""
        #expect(Machine.words(machine.segmentsEnded(length: 0)) == again)
        let start = Machine.head(206, ("Content-Range", "bytes 0-3/10"), ("ETag", "\"x\""))
        let action = machine.answered(start, at: Machine.now)
        #expect(Machine.words(action) == "receive 0")
        #expect(!action.dropsPart)
        #expect(Machine.words(machine.segmentsEnded(length: 10)) == "check")
    }

    @Test func ignoredRangesAreNotAskedRepeatedly() throws {
        var machine = try receiving(["a", "b"], pinned: true)
        for _ in 1...2 {
            machine.know(gapEnd: 4)
            let asked = Machine.words(machine.segmentsEnded(length: 0))
            #expect(asked.hasPrefix("a; Range: bytes=0-3"))
            let action = machine.answered(Machine.whole, at: Machine.now)
            #expect(action.dropsPart)
            guard case .restart(let cause, _) = action.notice else {
                Issue.record("dropped without a word")
                continue
            }
            #expect(cause.code == .rangeIgnored)
        }
        machine.know(gapEnd: 4)
        #expect(Machine.words(machine.segmentsEnded(length: 0)) == "b; Range: bytes=0-3")
        _ = machine.answered(Machine.head(503), at: Machine.now)
        #expect(Machine.words(machine.waited()).hasPrefix("a"))
    }

    @Test func wrongBytesOfSeveralConnectionsBlameNobodyOnce() throws {
        var machine = try receiving(pinned: true)
        let provenance = try #require(machine.part?.provenances.first)
        machine.joined(by: provenance)
        let wrong = try #require(Machine.wrong)
        #expect(Machine.words(machine.segmentsEnded(length: 4)).hasPrefix("a; Range"))
        _ = machine.answered(Machine.rest, at: Machine.now)
        _ = machine.segmentsEnded(length: 10)
        #expect(
            Machine.words(machine.checked(size: 10, digests: [wrong]))
                == "a; Cache-Control: no-cache")
        _ = machine.answered(Machine.whole, at: Machine.now)
        #expect(machine.segmentSources.isEmpty)
        _ = machine.bodyEnded(length: 10)
        // Two whole bodies of one source were wrong: there is no third.
        #expect(
            Machine.words(machine.checked(size: 10, digests: [wrong])).hasPrefix(
                "fail digest-mismatch"))
    }

    @Test func anotherVersionStartsOverTwice() throws {
        var machine = try receiving()
        for _ in 1...2 {
            let action = machine.versionChanged(ResponseError(.sourceChanged, "another"))
            #expect(action.dropsPart)
            #expect(Machine.words(action) == "a")
            _ = machine.answered(Machine.whole, at: Machine.now)
        }
        #expect(machine.segmentSources.isEmpty)
    }
}
