@testable import MirrorKit
import Testing

@testable import mirror

@Suite struct OutageNoteTests {
    private var note = OutageNote()

    private mutating func retry(
        _ path: String, _ host: String, wait: Int64, at time: Int64 = 0,
        code: FailureCode = .connectFailed
    ) throws {
        var cause = MirrorError(code, "no connection")
        cause.source = "https://\(host)/f"
        let again = Event.Again(
            target: try Target(path), cause: cause, attempt: 1, wait: wait)
        note.apply(Event(run: "", time: Instant(milliseconds: time), body: .retry(again)))
    }

    @Test mutating func hostsThatGiveNoAnswerAreCountedOnce() throws {
        #expect(note.line(at: Instant(milliseconds: 0)) == nil)
        try retry("Caches/a", "a.example", wait: 9000)
        try retry("Caches/b", "b.example:8443", wait: 4000)
        try retry("Caches/c", "a.example", wait: 8000)
        let words = [0, 500, 4000, 4500].map { note.line(at: Instant(milliseconds: $0)) }
        #expect(
            words == [
                "no answer from 2 hosts, trying again in 4 s",
                "no answer from 2 hosts, trying again in 4 s",
                "no answer from 2 hosts, trying again", "no answer from 2 hosts, trying again",
            ])
    }

    @Test mutating func progressEndsTheOutageOfAHost() throws {
        try retry("Caches/a", "a.example", wait: 2000)
        let progress = Event.Progress(target: try Target("Caches/a"), bytes: 1, size: 2, rate: 1)
        note.apply(Event(run: "", time: Instant(milliseconds: 0), body: .progress(progress)))
        #expect(note.line(at: Instant(milliseconds: 0)) == nil)
    }

    @Test mutating func answeringHostIsNotCountedAsSilent() throws {
        try retry("Caches/a", "a.example", wait: 2000, code: .httpStatus)
        try retry("Caches/b", "a.example", wait: 0)
        #expect(note.line(at: Instant(milliseconds: 0)) == nil)
    }
}
