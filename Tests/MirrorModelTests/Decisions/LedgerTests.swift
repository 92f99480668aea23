import MirrorModel
import Testing

/// The numbers of a run, entered one by one.
@Suite struct LedgerTests {
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

    static func ledger(resources: Int = 1, skipped: Int = 0, orphans: Int = 0) -> Ledger {
        Ledger(resources: resources, skipped: skipped, orphans: orphans, root: "/r")
    }

    @Test func outcomesAddUpToTheResources() throws {
        var ledger = Self.ledger(resources: 23, skipped: 3, orphans: 2)
        let unentered: Set<Outcome> = [.skipped, .interrupted, .failed]
        for outcome in Outcome.allCases where !unentered.contains(outcome) {
            try ledger.enter(Self.done(outcome))
        }
        ledger.enterInterrupted()
        ledger.enterKept(3)
        try ledger.enter(Self.failed(.digestMismatch))
        let summary = ledger.closed(error: nil, exit: nil, seconds: 1.5)
        #expect(Outcome.allCases.map { summary[$0] }.reduce(0, +) == summary.resources)
        #expect(summary[.kept] == 4)
        #expect(summary[.skipped] == 3)
        #expect(summary.orphans == 2)
        #expect(summary.seconds == 1.5)
        #expect(summary.root == "/r")
    }

    @Test func onlyWhatWasPromotedCountsAsUnverified() throws {
        var ledger = Self.ledger()
        for outcome in Outcome.allCases { try ledger.enter(Self.done(outcome, .none)) }
        #expect(ledger.summary.unverified == 5)
        for outcome in Outcome.allCases { try ledger.enter(Self.done(outcome, .size)) }
        #expect(ledger.summary.unverified == 5)
    }

    @Test(
        arguments: [
            (FailureCode.connectFailed, false, 69), (.digestMismatch, false, 1),
            (.connectFailed, true, 0), (.digestMismatch, true, 0),
        ] as [(FailureCode, Bool, Int32)])
    func anOptionalFailureIsCountedAndForgiven(
        code: FailureCode, isOptional: Bool, exit: Int32
    ) throws {
        var ledger = Self.ledger()
        try ledger.enter(Self.failed(code, isOptional: isOptional))
        let summary = ledger.closed(error: nil, exit: nil, seconds: 0)
        #expect(summary[.failed] == 1)
        #expect(summary.failedOptional == (isOptional ? 1 : 0))
        #expect(summary.exit == exit)
    }

    /// 503 and 404 have one code; the error itself knows which of them may heal.
    @Test func theErrorSaysWhetherItMayHeal() throws {
        for (isRetryable, exit) in [(true, Int32(69)), (false, 1)] {
            var failed = try Self.failed(.httpStatus)
            failed.error.isRetryable = isRetryable
            var ledger = Self.ledger()
            ledger.enter(failed)
            #expect(ledger.closed(error: nil, exit: nil, seconds: 0).exit == exit)
        }
    }

    @Test func aStaleFileIsAcceptedOrNot() throws {
        for (isAccepted, exit) in [(true, Int32(0)), (false, 69)] {
            var ledger = Self.ledger()
            ledger.enter(try Self.done(.stale), isAcceptedStale: isAccepted)
            let summary = ledger.closed(error: nil, exit: nil, seconds: 0)
            #expect(summary.exit == exit)
            #expect(summary[.stale] == 1)
        }
    }

    @Test(arguments: [Outcome.edited, .conflict, .kept, .adopted])
    func otherPeoplesBytesAreNoFailure(outcome: Outcome) throws {
        var ledger = Self.ledger()
        try ledger.enter(Self.done(outcome))
        #expect(ledger.closed(error: nil, exit: nil, seconds: 0).exit == 0)
    }

    @Test func aSignalStandsAboveAll() throws {
        var ledger = Self.ledger()
        try ledger.enter(Self.failed(.digestMismatch))
        let error = MirrorError(.noSpace, "The disk is full.")
        let summary = ledger.closed(error: error, exit: 130, seconds: 0)
        #expect(summary.exit == 130)
        #expect(summary.error == error)
        #expect(ledger.closed(error: error, exit: nil, seconds: 0).exit == 74)
    }

    @Test func costsAndRemovalsAreSums() throws {
        var ledger = Self.ledger(orphans: 1)
        ledger.enter(TransferCost(requests: 2, bytesReceived: 10, bytesReused: 5))
        ledger.enter(TransferCost(requests: 1, bytesReceived: 1))
        let orphan = Step(
            target: try Target("Caches/a"), manifest: 0, resource: nil, kind: .remove,
            reason: .orphan(of: "m"), means: .removal, existing: .nothing, size: 1)
        ledger.enterRemoval(of: orphan, succeeded: true)
        ledger.enterRemoval(of: orphan, succeeded: false)
        let summary = ledger.closed(error: nil, exit: nil, seconds: 0)
        #expect(summary.requests == 3)
        #expect(summary.bytesReceived == 11)
        #expect(summary.bytesReused == 5)
        #expect(summary.removed == 1)
        #expect(summary.orphans == 2)
        #expect(summary.exit == 1)
    }
}
