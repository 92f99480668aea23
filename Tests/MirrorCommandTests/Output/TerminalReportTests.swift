@testable import MirrorKit
import Testing

@testable import mirror

/// What a terminal is told while a run goes on, and at its end.
@Suite struct TerminalReportTests {
    private func done(_ number: Int, _ outcome: Outcome = .fetched) throws -> Event {
        Event(
            run: "", time: Instant(milliseconds: 0),
            body: .done(
                .init(
                    target: try Target("Caches/\(number)"), step: .fetch, outcome: outcome,
                    reason: .missing, verified: .digest)))
    }

    private func plan(_ fetches: Int) -> Event {
        var totals = PlanTotals(
            of: Plan(
                root: "", manifests: [], steps: StepList(of: []), now: Instant(seconds: 0),
                orphansLeft: 0))
        totals.steps = [.fetch: fetches, .keep: 1000]
        return Event(run: "", time: Instant(milliseconds: 0), body: .plan(totals))
    }

    @Test(arguments: [(20, false), (21, true)])
    func manySuccessesHaveNoLines(fetches: Int, isQuiet: Bool) throws {
        var report = TerminalReport(groupsFailures: true, countsSuccess: true)
        let events = try [plan(fetches), done(1), done(2, .conflict), done(3, .stale)]
        let absorbed = events.map { report.absorbs($0) }
        #expect(absorbed == [false, isQuiet, false, false])
    }

    @Test func uncountedSuccessesAreListedUpToTwenty() throws {
        var report = TerminalReport(groupsFailures: true, countsSuccess: true)
        let events = try (0..<100).map { try done($0, .adopted) }
        let absorbed = events.map { report.absorbs($0) }
        #expect(absorbed.count { !$0 } == 20)
        var verbose = TerminalReport(groupsFailures: true, countsSuccess: false)
        let all = events.map { verbose.absorbs($0) }
        #expect(!all.contains(true))
    }

    @Test func pausedFilesAreNamedAtTheEnd() throws {
        var report = TerminalReport(groupsFailures: false, countsSuccess: false)
        for number in 1...5 { report.hold(try Target("Caches/\(number)")) }
        #expect(
            report.end(TextStyle(isColored: false)) == [
                "mirror: note: 5 paused; mirror resume lets them come: Caches/1, Caches/2, Caches/3 and 2 more"
            ])
    }

    @Test func filesOverTheQuotaAreGroupedAtTheEnd() throws {
        func files(_ numbers: ClosedRange<Int>, size: Int64?, freed: Int64 = 0) throws -> [Event
            .Done]
        {
            try numbers.map { number in
                var done = Event.Done(
                    target: try Target("Caches/\(number)"), step: .evicted, outcome: .evicted,
                    reason: .overQuota(of: 5 << 20, size: size), verified: .none)
                done.bytesFreed = freed
                return done
            }
        }
        func lines(isQuiet: Bool = false, isVerbose: Bool = false) throws -> [String] {
            let style = TextStyle(isColored: false)
            let text = TextReport(
                isQuiet: isQuiet, isVerbose: isVerbose, style: style, errorStyle: style,
                clock: .ofThisProcess(now: Instant(seconds: 0)))
            var report = TerminalReport(groupsFailures: false, countsSuccess: false)
            let all =
                try files(1...4, size: 1 << 20) + files(5...5, size: nil)
                + files(9...9, size: 1 << 20, freed: 1 << 20)
            for done in all where text.counts(done) { report.count(done) }
            return text.lines(counted: report)
        }
        let advice = "  (no room within the quota of 5.0 MiB; mirror get TARGET brings one)"
        #expect(
            try lines() == [
                "evicted       1 file, 1.0 MiB: Caches/9" + advice,
                "left out      5 files, 4.0 MiB + 1 of unknown size: Caches/1, Caches/2, Caches/3 and 2 more"
                    + advice,
            ])
        #expect(try lines(isQuiet: true).isEmpty)
        #expect(try lines(isVerbose: true).isEmpty)
    }

    @Test(
        arguments: [
            (0, 0, nil), (1024, 0, "Saved: 1.0 KiB were there already."),
            (0, 3, "Saved: 3 files needed no request."),
            (15 << 20, 1, "Saved: 15.0 MiB were there already, 1 file needed no request."),
        ] as [(Int64, Int, String?)])
    func summaryTellsWhatWasSaved(bytes: Int64, kept: Int, text: String?) {
        var counts = SummaryCounts(resources: kept, skipped: 0, orphans: 0, root: "")
        counts.enter(TransferCost(bytesReused: bytes))
        counts.enterKept(kept)
        #expect(counts.summary.saved == text)
    }
}
