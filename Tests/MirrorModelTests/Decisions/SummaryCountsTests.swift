@testable import MirrorKit
import Testing

/// The numbers of a run, entered one by one.
@Suite struct SummaryCountsTests {
    static func done(_ outcome: Outcome, _ verified: Verification = .digest) throws -> Event.Done {
        Event.Done(
            target: try Target("Caches/a"), step: .fetch, outcome: outcome, reason: .missing,
            verified: verified)
    }

    static func failed(_ code: FailureCode, isOptional: Bool = false) throws -> Event.Failed {
        Event.Failed(
            target: try Target("Caches/a"), step: .fetch, error: MirrorError(code, "It failed."),
            isOptional: isOptional, manifest: "m", line: 1)
    }

    static func counts(resources: Int = 1, skipped: Int = 0, orphans: Int = 0) -> SummaryCounts {
        SummaryCounts(resources: resources, skipped: skipped, orphans: orphans, root: "/r")
    }

    @Test func outcomesAddUpToTheResources() throws {
        var counts = Self.counts(resources: 24, skipped: 3, orphans: 2)
        let unentered: Set<Outcome> = [.skipped, .interrupted, .failed]
        for outcome in Outcome.allCases where !unentered.contains(outcome) {
            try counts.enter(Self.done(outcome))
        }
        counts.enterInterrupted()
        counts.enterKept(3)
        try counts.enter(Self.failed(.digestMismatch))
        let summary = counts.closed(error: nil, exit: nil, seconds: 1.5)
        #expect(Outcome.allCases.map { summary[$0] }.reduce(0, +) == summary.resources)
        #expect(summary[.kept] == 4)
        #expect(summary[.skipped] == 3)
        #expect(summary.orphans == 2)
        #expect(summary.seconds == 1.5)
        #expect(summary.root == "/r")
    }

    @Test func onlyWhatWasPromotedCountsAsUnverified() throws {
        var counts = Self.counts()
        for outcome in Outcome.allCases { try counts.enter(Self.done(outcome, .none)) }
        #expect(counts.summary.unverified == 5)
        for outcome in Outcome.allCases { try counts.enter(Self.done(outcome, .size)) }
        #expect(counts.summary.unverified == 5)
    }

    @Test(
        arguments: [
            (FailureCode.connectFailed, false, 69), (.digestMismatch, false, 1),
            (.connectFailed, true, 0), (.digestMismatch, true, 0),
        ] as [(FailureCode, Bool, Int32)])
    func anOptionalFailureIsCountedAndForgiven(
        code: FailureCode, isOptional: Bool, exit: Int32
    ) throws {
        var counts = Self.counts()
        try counts.enter(Self.failed(code, isOptional: isOptional))
        let summary = counts.closed(error: nil, exit: nil, seconds: 0)
        #expect(summary[.failed] == 1)
        #expect(summary.failedOptional == (isOptional ? 1 : 0))
        #expect(summary.exit == exit)
    }

    /// 503 and 404 have one code; the error itself knows which of them may heal.
    @Test func theErrorSaysWhetherItMayHeal() throws {
        for (isRetryable, exit) in [(true, Int32(69)), (false, 1)] {
            var failed = try Self.failed(.httpStatus)
            failed.error.isRetryable = isRetryable
            var counts = Self.counts()
            counts.enter(failed)
            #expect(counts.closed(error: nil, exit: nil, seconds: 0).exit == exit)
        }
    }

    @Test func aStaleFileIsAcceptedOrNot() throws {
        for (isAccepted, exit) in [(true, Int32(0)), (false, 69)] {
            var counts = Self.counts()
            counts.enter(try Self.done(.stale), isAcceptedStale: isAccepted)
            let summary = counts.closed(error: nil, exit: nil, seconds: 0)
            #expect(summary.exit == exit)
            #expect(summary[.stale] == 1)
        }
    }

    @Test(arguments: [Outcome.edited, .conflict, .kept, .adopted])
    func otherPeoplesBytesAreNoFailure(outcome: Outcome) throws {
        var counts = Self.counts()
        try counts.enter(Self.done(outcome))
        #expect(counts.closed(error: nil, exit: nil, seconds: 0).exit == 0)
    }

    @Test func aSignalStandsAboveAll() throws {
        var counts = Self.counts()
        try counts.enter(Self.failed(.digestMismatch))
        let error = MirrorError(.noSpace, "The disk is full.")
        let summary = counts.closed(error: error, exit: 130, seconds: 0)
        #expect(summary.exit == 130)
        #expect(summary.error == error)
        #expect(counts.closed(error: error, exit: nil, seconds: 0).exit == 74)
    }

    @Test func theFirstFailuresAreKept() throws {
        var counts = Self.counts()
        for _ in 0..<30 { try counts.enter(Self.failed(.digestMismatch)) }
        #expect(counts.summary[.failed] == 30)
        #expect(counts.summary.failures.map(\.code) == Array(repeating: .digestMismatch, count: 20))
    }

    @Test func costsAndRemovalsAreSums() throws {
        var counts = Self.counts(orphans: 1)
        counts.enter(TransferCost(requests: 2, bytesReceived: 10, bytesReused: 5))
        counts.enter(TransferCost(requests: 1, bytesReceived: 1))
        let orphan = Step(
            target: try Target("Caches/a"), manifest: 0, resource: nil, kind: .remove,
            reason: .orphan(of: "m"), means: .removal, existing: .nothing, size: 1)
        counts.enterRemoval(of: orphan, succeeded: true)
        counts.enterRemoval(of: orphan, succeeded: false)
        let summary = counts.closed(error: nil, exit: nil, seconds: 0)
        #expect(summary.requests == 3)
        #expect(summary.bytesReceived == 11)
        #expect(summary.bytesReused == 5)
        #expect(summary.removed == 1)
        #expect(summary.orphans == 2)
        #expect(summary.exit == 1)
    }
}
