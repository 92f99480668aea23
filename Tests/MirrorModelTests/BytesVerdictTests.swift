import Testing

@testable import MirrorModel

/// What is said of complete bytes: right, of the wrong size, or not the wanted ones.
@Suite struct BytesVerdictTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var size: Int64?
        var declares: Digest?
        var piecesHold: Bool?
        var isFramed = false
        let verdict: String
    }

    static let cases = [
        Case(
            testDescription: "the declared digest", declares: TransferMachineTests.right,
            verdict: "right digest"),
        Case(
            testDescription: "another digest", declares: TransferMachineTests.wrong,
            verdict: "wrong digest"),
        Case(testDescription: "another size", size: 9, verdict: "wrong size"),
        Case(
            testDescription: "another size and digest", size: 9,
            declares: TransferMachineTests.wrong, verdict: "wrong size"),
        Case(testDescription: "the declared size", size: 10, verdict: "right size"),
        Case(testDescription: "pieces that hold", piecesHold: true, verdict: "right digest"),
        Case(testDescription: "a piece that is wrong", piecesHold: false, verdict: "wrong digest"),
        Case(testDescription: "a framed body", isFramed: true, verdict: "right size"),
        Case(testDescription: "nothing to hold it against", verdict: "right none"),
    ]

    @Test(arguments: cases) func theVerdictOn(_ bytes: Case) throws {
        let file = WantedFile(
            target: try Target("Caches/f"), isPost: false,
            expectation: Expectation(
                size: bytes.size, digests: bytes.declares.map { [$0] } ?? []),
            policy: TransferPolicy(), local: nil)
        var hand = BytesInHand(nil, isPost: false)
        hand.endBody(isFramed: bytes.isFramed)
        let digests = [try #require(TransferMachineTests.right)]
        let verdict = BytesVerdict(
            size: 10, digests: digests, piecesHold: bytes.piecesHold, of: file, hand)
        let words =
            switch verdict {
            case .right(let verification): "right \(verification)"
            case .wrongSize: "wrong size"
            case .wrongDigest: "wrong digest"
            }
        #expect(words == bytes.verdict)
    }
}
