import MirrorTestSupport
import Testing

/// A sample of the classes that take seconds; `scripts/torture` makes all their trials.
@Suite(.timeLimit(.minutes(15)))
struct TortureTests {
    @Test(arguments: [
        ("R2", 40), ("R5", 10), ("R6", 40), ("R7", 60), ("R8", 60), ("R9", 9), ("R10", 6),
        ("R11", 40), ("R13", 4), ("R16", 9), ("R20", 24),
    ])
    func sampleHolds(_ name: String, _ trials: Int) async throws {
        try await hold(name, trials)
    }

    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func fullDiskSampleHolds() async throws { try await hold("R12", 8) }

    private func hold(_ name: String, _ trials: Int) async throws {
        try await DetachedThread.run {
            let kind = try #require(TortureTable.classes.first { $0.name == name })
            let tally = try kind.run(
                program: BuiltProgram.path(of: "mirror"), trials: trials, seed: 1)
            // A machine may not allow a class.
            #expect(tally.tried >= trials - 3 || tally.reasonNotRun != nil)
            #expect(tally.flaws.isEmpty, "\(tally.flaws.prefix(5).joined(separator: "\n"))")
        }
    }
}
