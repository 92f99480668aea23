import Testing

@testable import mirror

/// The command that the main thread parses while the runtime starts the command's own task.
@Suite(.timeLimit(.minutes(1))) struct EarlyCommandTests {
    private static let words = ["plan", "m.json", "--quiet"]

    @Test func whoAsksBeforeItIsParsedWaitsForIt() async throws {
        let early = EarlyCommand(Self.words)
        async let command = early.command(from: Self.words)
        try await Task.sleep(for: .milliseconds(20))
        early.parse()
        let plan = try #require(try await command as? PlanCommand)
        #expect(plan.manifests == ["m.json"])
        #expect(plan.output.quiet)
    }

    @Test func whoAsksLaterGetsIt() async throws {
        let early = EarlyCommand(Self.words)
        early.parse()
        #expect(try await early.command(from: Self.words) is PlanCommand)
    }

    /// A setting of the root adds to the words of the command line.
    @Test func wordsThatWereAddedCount() async throws {
        let early = EarlyCommand(Self.words)
        early.parse()
        let command = try await early.command(from: Self.words + ["--json"])
        #expect(try #require(command as? PlanCommand).output.json)
    }

    @Test func theParsersErrorIsItsOwn() async throws {
        let words = ["plan", "--nonsense"]
        let early = EarlyCommand(words)
        early.parse()
        await #expect(throws: (any Error).self) { try await early.command(from: words) }
    }

    /// Nobody parses these early: their parsing may look at files, which may be away.
    @Test(arguments: [
        ["sync", "--netrc-file", "/nowhere/netrc"], ["--version"], ["---completion", "sync"], [],
    ])
    func otherWordsAreLeftToTheCommandsTask(words: [String]) async {
        let early = EarlyCommand(words)
        _ = try? await early.command(from: words)
    }
}
