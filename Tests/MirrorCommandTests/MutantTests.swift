import MirrorTestSupport
import Testing

/// The faults of `Tests/Mutants` still apply: each changes text that is there once, breaks a promise
/// that it names, and names tests that there are. `scripts/mutants` tries them.
@Suite(.timeLimit(.minutes(15))) struct MutantTests {
    private static let home =
        #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()

    private func check(_ names: String...) throws -> Command.Result {
        try Command.run(
            "/usr/bin/python3", [MutantTests.home + "/scripts/mutants", "--only-check"] + names,
            environment: ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"])
    }

    @Test func everyMutantAppliesToTheSources() throws {
        let result = try check()
        #expect(result.ending == .exited(0), "\(result.errors)")
        let count = try #require(result.output.split(separator: " ").first.flatMap { Int($0) })
        #expect(count >= 100)
    }

    @Test func anUnknownMutantIsAnError() throws {
        let result = try check("no-mutant-has-this-name")
        #expect(result.ending == .exited(1))
        #expect(result.errors.contains("no mutant"))
    }
}
