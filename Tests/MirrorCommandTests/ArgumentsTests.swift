import Testing

@testable import mirror

/// The words of a command line, where Swift does not find them.
struct ArgumentsTests {
    @Test func theKernelKnowsTheWordsToo() {
        #expect(Arguments.words(onStack: []) == Array(CommandLine.arguments.dropFirst()))
    }

    @Test func wordsOnTheStackAreTaken() {
        #expect(Arguments.words(onStack: ["mirror", "plan", ""]) == ["plan", ""])
    }
}
