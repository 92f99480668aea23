@testable import MirrorKit
import Testing

@testable import mirror

/// What helps against a failure, in the command's words.
@Suite struct RemedyWordsTests {
    @Test(arguments: Remedy.Kind.all) func everyRemedyHasASentence(_ kind: Remedy.Kind) {
        let sentence = Remedy(kind, "x").sentence
        #expect(sentence.hasSuffix("."))
        #expect(
            sentence.contains("--") || sentence.contains("mirror "),
            "neither an option nor a verb: \(sentence)")
    }

    @Test func theSentenceFollowsTheMessage() {
        let error = MirrorError(.locked, "/r: it is locked.", remedy: Remedy(.waitForLock))
        #expect(error.sentence == "/r: it is locked. Wait for it with --wait 30s, or stop it.")
        #expect(error.worded.message == error.sentence)
        #expect(error.worded.worded.message == error.sentence)
    }

    @Test func eachGrantIsAnOption() {
        let remedy = Remedy(.grant, "A@https://a.example A@https://b.example")
        #expect(
            remedy.sentence == "Pass --env A@https://a.example --env A@https://b.example.")
    }

    @Test func aRemedyWithoutWordsAddsNothing() {
        let error = MirrorError(.locked, "Locked.", remedy: Remedy(.init(rawValue: "new"), "x"))
        #expect(error.sentence == "Locked.")
    }
}
