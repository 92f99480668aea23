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
