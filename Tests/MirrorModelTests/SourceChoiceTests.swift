import Testing

@testable import MirrorKit

/// Which source has its turn after a failure, and when.
@Suite struct SourceChoiceTests {
    private let policy = TransferPolicy(retries: 2, maxWait: .seconds(300))
    private let error = MirrorError(.connectionLost, "lost")

    private func choice(_ names: [String]) throws -> SourceChoice {
        SourceChoice(try names.map { try TransferMachineTests.source($0) }, jitter: { $0 })
    }

    /// A turn in few words, with the position of the source whose turn it is.
    private func words(_ turn: (wait: Int64, number: Int?)?, _ position: Int) -> String {
        guard let turn else { return "never" }
        return turn.number.map { "\(position) in \(turn.wait), try \($0)" } ?? "\(position) now"
    }

    @Test func everySourceIsAskedBeforeAnyWait() throws {
        var choice = try choice(["a", "b"])
        var turns: [String] = []
        for _ in 1...6 {
            choice.fail(with: error)
            let turn = choice.moveOn(policy)
            turns.append(words(turn, choice.current))
        }
        #expect(
            turns == [
                "1 now", "0 in 500, try 2", "1 now", "0 in 1000, try 3", "1 now", "never",
            ])
    }

    @Test func aSourceThatEndedIsNotAskedAgain() throws {
        var choice = try choice(["a", "b"])
        choice.end(with: error)
        let first = choice.moveOn(policy)
        #expect(words(first, choice.current) == "1 now")
        choice.end(with: error)
        let second = choice.moveOn(policy)
        #expect(words(second, choice.current) == "never")
    }

    @Test func waitsLastUntilAHostIsFree() throws {
        var choice = try choice(["a"])
        choice.fail(with: error)
        let turn = choice.moveOn(after: 7, policy)
        #expect(words(turn, choice.current) == "0 in 7000, try 2")
    }

    @Test func progressBeginsTheLadderAnew() throws {
        var choice = try choice(["a"])
        choice.fail(with: error)
        _ = choice.moveOn(policy)
        choice.progressed()
        choice.fail(with: error)
        let turn = choice.moveOn(policy)
        #expect(words(turn, choice.current) == "0 in 500, try 2")
    }

    @Test func aSilentHostYieldsToTheFirstFree() throws {
        var choice = try choice(["a", "b"])
        let first = choice.leave(with: error, closedFor: 4000)
        #expect(first == nil)
        #expect(choice.current == 1)
        let second = choice.leave(with: error, closedFor: 9000)
        #expect(second == 4000)
        #expect(choice.current == 0)
    }

    @Test func theFinalErrorNamesEverySourceOnce() throws {
        var choice = try choice(["a", "b"])
        choice.noteRequest()
        choice.fail(with: error)
        _ = choice.moveOn(policy)
        choice.noteRequest()
        let final = choice.finalError(error, attempts: 2)
        #expect(final.tried == ["https://a.example/f", "https://b.example/f"])
        #expect(final.message.contains("None of 2 sources gave the file."))
    }
}
