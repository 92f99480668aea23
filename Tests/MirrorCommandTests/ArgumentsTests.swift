import Testing

@testable import mirror

/// The words of a command line, where Swift does not find them.
struct ArgumentsTests {
    @Test func withoutAStackArgumentsComeFromTheKernel() {
        #expect(CommandLine.words(onStack: []) == Array(CommandLine.arguments.dropFirst()))
    }

    @Test func argumentsAreTakenFromTheStack() {
        #expect(CommandLine.words(onStack: ["mirror", "plan", ""]) == ["plan", ""])
    }
}
