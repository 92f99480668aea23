import Testing

@testable import MirrorKit

/// What is said of complete bytes: right, of the wrong size, or not the wanted ones.
@Suite struct VerifiedBytesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var size: Int64?
        var declares: Digest?
        var piecesHold: Bool?
        var isFramed = false
        let finding: String
    }

    static let cases = [
        Case(
            testDescription: "the declared digest", declares: TransferMachineTests.right,
            finding: "right digest"),
        Case(
            testDescription: "another digest", declares: TransferMachineTests.wrong,
            finding: "wrong digest"),
        Case(testDescription: "another size", size: 9, finding: "wrong size"),
        Case(
            testDescription: "another size and digest", size: 9,
            declares: TransferMachineTests.wrong, finding: "wrong size"),
        Case(testDescription: "the declared size", size: 10, finding: "right size"),
        Case(testDescription: "pieces that hold", piecesHold: true, finding: "right digest"),
        Case(testDescription: "a piece that is wrong", piecesHold: false, finding: "wrong digest"),
        Case(testDescription: "a framed body", isFramed: true, finding: "right size"),
        Case(testDescription: "nothing to hold it against", finding: "right none"),
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
        let words: String
        do throws(ResponseError) {
            let verification = try hand.verify(
                size: 10, digests: digests, piecesHold: bytes.piecesHold, as: file)
            words = "right \(verification)"
        } catch { words = error.code == .sizeMismatch ? "wrong size" : "wrong digest" }
        #expect(words == bytes.finding)
    }
}
