@testable import MirrorKit
import Testing

/// What a run's log holds of a decision is what is read again.
@Suite struct PastDecisionTests {
    private func line(_ decision: PastDecision) -> [UInt8] {
        var json = JSONWriter()
        json.object { decision.writeMembers(to: &$0) }
        return json.take()
    }

    @Test func everyFieldOfADecisionComesBack() throws {
        var decision = PastDecision(
            target: try Target("Documents/ä \"b\".bin"), step: .update, reason: "due",
            because: "due: 3 h ago, refresh=2h")
        decision.outcome = .updated
        decision.bytesReceived = 12
        decision.bytesReused = 34
        decision.source = "https://h.example/a"
        decision.verified = .digest
        decision.failures = [
            .init(
                code: .httpStatus, message: "503 Service Unavailable", wait: 1500, began: 20,
                status: 503)
        ]
        decision.trace = TransferTrace(began: 12, ended: 345)
        decision.trace?.version = .http2
        decision.trace?.ranges = .honoured
        #expect(PastDecision(line: line(decision)) == decision)
    }

    @Test func theErrorOfAFailureComesBack() throws {
        let target = try Target("Caches/a")
        var decision = PastDecision(target: target, step: .fetch, reason: "missing", because: "x")
        decision.outcome = .failed
        var error = MirrorError(.digestMismatch, "Caches/a: sha256 is another")
        error.source = "https://h.example/a"
        error.status = 200
        error.attempts = 3
        error.expected = "aa"
        error.actual = "bb"
        error.tried = ["https://h.example/a"]
        error.remedy = Remedy(.refetch, "Caches/a")
        decision.error = error
        decision.isOptional = true
        #expect(PastDecision(line: line(decision)) == decision)
    }

    @Test func lineOfAnOlderLogHasNoTimes() throws {
        let line =
            #"{"path":"Caches/a","step":"fetch","reason":"missing","because":"not there","outcome":"fetched","bytesReceived":3,"bytesReused":0,"source":"http://h.example/a","verified":"size","retries":[{"cause":"http-status","message":"503","wait":0.500}],"error":null}"#
        let decision = try #require(PastDecision(line: Array(line.utf8)))
        #expect(decision.outcome == .fetched)
        #expect(decision.trace == nil)
        #expect(decision.failures.map(\.status) == [nil])
        #expect(decision.failures.map(\.began) == [nil])
    }

    @Test(arguments: [
        #"{"began":5,"ended":4}"#, #"{"began":-1,"ended":4}"#, #"{"began":1}"#, "null", "7",
    ])
    func timesThatNoRunHasAreNoTimes(transfer: String) throws {
        let line = #"{"path":"Caches/a","step":"fetch","transfer":"# + transfer + "}"
        #expect(try #require(PastDecision(line: Array(line.utf8))).trace == nil)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"path":"/x","step":"fetch"}"#, #"{"path":"Caches/a"}"#,
    ])
    func malformedLogLineIsSkipped(text: String) {
        #expect(PastDecision(line: Array(text.utf8)) == nil)
    }

    @Test func everyNumberOfASummaryComesBack() {
        var summary = Summary()
        summary.root = "/srv/maps"
        summary.exit = 69
        for (number, outcome) in Outcome.allCases.enumerated() { summary[outcome] = number + 1 }
        summary.resources = 1000
        summary.failedOptional = 101
        summary.removed = 102
        summary.orphans = 103
        summary.setsLeft = 104
        summary.unverified = 105
        summary.bytesReceived = 106
        summary.bytesReused = 107
        summary.partBytes = 108
        summary.requests = 109
        summary.seconds = 1.5
        let record = RunRecord(
            id: "R", startedAt: Instant(seconds: 1), endedAt: Instant(seconds: 2), exit: 69,
            summary: summary.json)
        #expect(PastRun(record).summary == summary)
    }
}
