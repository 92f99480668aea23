@testable import MirrorKit
import MirrorTestSupport
import Testing

@testable import mirror

/// The exit codes that can happen are those of docs/exit-codes.md and of `mirror --help`.
@Suite struct ExitCodesPageTests {
    /// What the verdict gives, `plan --exit-code`, and the two signals.
    private static let codes: Set<String> = {
        var codes = Set(FailureCode.allCases.map { $0.exitCode })
        codes.formUnion([0, 2, 129, 130, 143])
        codes.insert(Summary.exitCode(healing: 1, lasting: 0, stale: 0))
        codes.insert(Summary.exitCode(healing: 0, lasting: 1, stale: 0))
        return Set(codes.map(String.init))
    }()

    @Test func everyExitCodeHasItsRow() throws {
        #expect(
            try DocsPage("docs/exit-codes.md").tableKeys(beneath: "Exit codes")
                == ExitCodesPageTests.codes)
    }

    @Test func everyExitCodeHasWords() {
        #expect(Set(ExitWords.all.map { String($0.code) }) == ExitCodesPageTests.codes)
    }

    @Test func theHelpTextNamesEveryExitCode() throws {
        let help = try HelpText.of([])
        let lines = try #require(help.split(separator: "EXIT CODES:").dropFirst().first)
        let words = lines.split { !$0.isNumber }.map(String.init)
        #expect(ExitCodesPageTests.codes.subtracting(words).sorted() == [])
    }
}
