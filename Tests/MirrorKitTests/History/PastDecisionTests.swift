import MirrorModel
import Testing

@testable import MirrorKit

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
            .init(code: .httpStatus, message: "503 Service Unavailable", wait: 1500)
        ]
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
        decision.error = error
        #expect(PastDecision(line: line(decision)) == decision)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"path":"/x","step":"fetch"}"#, #"{"path":"Caches/a"}"#,
    ])
    func malformedLogLineIsSkipped(text: String) {
        #expect(PastDecision(line: Array(text.utf8)) == nil)
    }
}
