import Testing

@testable import MirrorKit
@testable import MirrorModel

/// A line that leaves out what the one before says is read as if it said it.
@Suite struct DecisionLineTests {
    private func done(
        _ path: String, _ reason: Reason = .missing, began: Int64? = 5
    ) throws -> Event.Done {
        var done = Event.Done(
            target: try Target(path), step: .fetch, outcome: .fetched, reason: reason,
            verified: .digest)
        done.bytesReceived = 4096
        done.source = "https://h.example/\(path)"
        done.trace = began.map { TransferTrace(began: $0, ended: $0 + 3) }
        done.trace?.version = .http2
        done.trace?.ranges = .offered
        return done
    }

    private func lines(_ events: [Event.Body]) -> [ArraySlice<UInt8>] {
        var writer = DecisionLineWriter()
        for event in events { writer.add(event, failures: [], reason: nil) }
        return writer.bytes.split(separator: UInt8(ascii: "\n"))
    }

    private func decisions(_ lines: [ArraySlice<UInt8>]) -> [PastDecision?] {
        var reader = DecisionLineReader()
        return lines.map { reader.decision(in: $0) }
    }

    private func expected(_ event: Event.Body) -> PastDecision? {
        PastDecision(event, failures: [], reason: nil)
    }

    @Test func shortLinesAreReadAsWhatTheyStandFor() throws {
        var resumed = try done("Caches/ä \"d\".bin", began: 1_000_000)
        resumed.bytesReused = 7
        let ends = [
            try done("Caches/a"), try done("Caches/b", began: 0), resumed,
            try done("Caches/e", .refetchAsked), try done("Caches/f", .refetchAsked),
            try done("Caches/g", began: nil), try done("Caches/h", began: nil),
        ].map(Event.Body.done)
        let lines = lines(ends)
        #expect(decisions(lines) == ends.map(expected))
        let short = lines.map { $0.starts(with: #"{"also":"#.utf8) }
        #expect(short == [false, true, true, false, true, false, true])
    }

    @Test func aFailureIsNoModelForTheNextLine() throws {
        let target = try Target("Caches/b")
        let failed = Event.Failed(
            target: target, step: .fetch, error: MirrorError(.httpStatus, "gone"),
            isOptional: false, manifest: "m", line: 1)
        let events: [Event.Body] = [
            .done(try done("Caches/a")), .failed(failed), .done(try done("Caches/c")),
            .done(try done("Caches/d")),
        ]
        #expect(decisions(lines(events)) == events.map(expected))
    }

    /// `status` finds stale files by the outcome in their lines.
    @Test func staleFilesHaveWholeLines() throws {
        let stale = try ["Caches/a", "Caches/b"].map { path in
            var done = try done(path)
            done.outcome = .stale
            return Event.Body.done(done)
        }
        for line in lines(stale) {
            #expect(String(decoding: line, as: UTF8.self).contains(#""outcome":"stale""#))
        }
    }

    @Test func passingFailuresAreInALineOfTheirOwn() throws {
        var writer = DecisionLineWriter()
        let failure = PastDecision.PassingFailure(code: .stalled, message: "slow", wait: 1000)
        writer.add(.done(try done("Caches/a")), failures: [], reason: nil)
        writer.add(.done(try done("Caches/b")), failures: [failure], reason: nil)
        writer.add(.done(try done("Caches/c")), failures: [], reason: nil)
        let read = decisions(writer.bytes.split(separator: UInt8(ascii: "\n")))
        #expect(read.map { $0?.failures } == [[], [failure], []])
    }

    @Test func readerOfOneTargetFindsItsLinesOnly() throws {
        let ends = try ["Caches/a", "Caches/b", "Caches/bc"].map { Event.Body.done(try done($0)) }
        for (number, path) in ["Caches/a", "Caches/b", "Caches/bc"].enumerated() {
            var reader = DecisionLineReader(about: try Target(path))
            let read = lines(ends).map { reader.decision(in: $0) }
            #expect(read.compactMap { $0 } == [expected(ends[number])].compactMap { $0 })
        }
    }

    @Test func shortLineWithoutAWholeOneIsSkipped() {
        let line = Array(#"{"also":"Caches/a","bytesReceived":1}"#.utf8)
        #expect(decisions([line[...], line[...]]) == [nil, nil])
    }

    @Test func lineAfterAMalformedOneTakesNothingFromTheLineBeforeIt() throws {
        let lines = lines([.done(try done("Caches/a")), .done(try done("Caches/b"))])
        let read = decisions([lines[0], Array("{".utf8)[...], lines[1]])
        #expect(read.map { $0 == nil } == [false, true, true])
    }
}
