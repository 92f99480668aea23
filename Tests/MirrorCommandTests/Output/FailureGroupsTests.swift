@testable import MirrorKit
import Testing

@testable import mirror

/// The failures of a run by their causes.
@Suite struct FailureGroupsTests {
    private func failure(
        _ path: String, _ code: FailureCode = .httpStatus, status: Int? = nil,
        host: String = "h.example", isRetryable: Bool = false, remedy: Remedy? = nil
    ) throws -> Event.Failed {
        let target = try Target(path)
        var error = MirrorError(
            code, "\(path): HTTP 404 (from https://\(host)/x).", target: target, remedy: remedy)
        error.status = status
        error.source = "https://\(host)/x"
        error.isRetryable = isRetryable
        return Event.Failed(
            target: target, step: .fetch, error: error, isOptional: false, manifest: "m", line: 1)
    }

    private func lines(_ failures: [Event.Failed]) -> [String] {
        var groups = FailureCauses()
        for failed in failures { groups.add(failed) }
        return groups.lines(TextStyle(isColored: false))
    }

    @Test func oneFailureIsItsWholeSentence() throws {
        #expect(
            try lines([failure("Caches/it's", status: 404)]) == [
                "failed        Caches/it's: HTTP 404 (from https://h.example/x).",
                "              mirror why 'Caches/it'\\''s' says what was tried.",
            ])
    }

    @Test func failuresOfOneCauseAreNamedAndCounted() throws {
        let failures = try (0..<14).map {
            try failure("Caches/\($0)", status: 503, isRetryable: true)
        }
        let found = lines(failures)
        #expect(found.first == "failed        14 files: HTTP 503 from h.example")
        #expect(found.count == 13)
        #expect(found[11] == "              and 4 more")
        #expect(found[12] == "              mirror sync tries again; what has arrived is kept.")
    }

    @Test func causesAreToldApart() throws {
        let found = try lines([
            failure("Caches/a", status: 404), failure("Caches/b", .digestMismatch),
            failure("Caches/c", status: 404),
            failure("Caches/d", .digestMismatch, host: "i.example"),
        ])
        #expect(found.count { $0.hasPrefix("failed") } == 3)
        #expect(found.first == "failed        2 files: HTTP 404 from h.example")
        #expect(found.contains { $0.contains("mirror pin --update MANIFEST") })
    }

    @Test func aRemedyInAnErrorIsNotRepeated() throws {
        let remedy = Remedy(.goOnline)
        let one = try lines([failure("Caches/a", .offline, isRetryable: true, remedy: remedy)])
        #expect(one.count == 1)
        let two = try lines(
            ["Caches/a", "Caches/b"].map {
                try failure($0, .offline, isRetryable: true, remedy: remedy)
            })
        #expect(two.last == "              Run once without --offline.")
    }
}
