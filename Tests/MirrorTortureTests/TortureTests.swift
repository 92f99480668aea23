import MirrorTestSupport
@testable import MirrorTorture
import Testing

/// A sample of the classes that take seconds; `scripts/torture` makes all their trials.
@Suite(.timeLimit(.minutes(15)))
struct TortureTests {
    private static let samples = [
        ("R2", 40), ("R5", 10), ("R6", 40), ("R7", 60), ("R8", 60), ("R9", 9), ("R10", 6),
        ("R11", 40), ("R13", 4), ("R16", 9), ("R20", 24), ("R22", 6),
    ]
    /// A sanitizer makes a start take seconds: these start the program hundreds of times, or say how
    /// much of the processor it may take.
    private static let slowest = Sanitizers.areOn ? ["R2", "R6", "R7"] : []

    @Test(arguments: samples.filter { !slowest.contains($0.0) })
    func shortTortureOfEveryClassHolds(_ name: String, _ trials: Int) async throws {
        try await hold(name, trials)
    }

    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func shortTortureOnAFullDiskHolds() async throws { try await hold("R12", 8) }

    private func hold(_ name: String, _ trials: Int) async throws {
        let kind = try #require(TortureTable.classes.first { $0.name == name })
        let tally = try await DetachedThread.run {
            try kind.run(program: BuiltProgram.path(of: "mirror"), trials: trials, seed: 1)
        }
        // A machine may not allow a class.
        #expect(tally.tried >= trials - 3 || tally.reasonNotRun != nil)
        #expect(tally.flaws.isEmpty, "\(tally.flaws.prefix(5).joined(separator: "\n"))")
    }
}

/// The table of docs/reliability.md, and how it is written.
@Suite struct TortureTableTests {
    @Test func reliabilityPageMatchesItsGenerator() throws {
        let page = try #require(Folder(Project.folder).read("docs/reliability.md"))
        let text = String(decoding: page, as: UTF8.self)
        #expect(TortureTable.page(text, with: []) == text)
    }

    /// Where it is not found, classes that build for themselves are only said to be not run.
    @Test func projectIsWhereClassesLookForIt() {
        let names = Folder(Project.folder).entries().map(\.name)
        #expect(names.contains("Package.swift"), "\(Project.folder)")
    }

    @Test func generatorKeepsRowsOfOtherClasses() throws {
        let (one, two) = (TortureTable.classes[0], TortureTable.classes[1])
        var tally = Tally()
        tally.count("a trial", [])
        let row = TortureTable.row(one, tally, on: "2026-01-02")
        #expect(row == "| \(one.name) | \(one.title) | 1 | 1 | 2026-01-02 |")
        let empty = "before\n<!-- torture: begin -->\n<!-- torture: end -->\nafter\n"
        let first = try #require(
            TortureTable.page(empty, with: [TortureTable.row(two, tally), row]))
        let notRun = TortureTable.row(two, Tally(notRun: "no strace"))
        let second = try #require(TortureTable.page(first, with: [notRun]))
        let rows = second.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| R") }
        #expect(rows == [row, notRun])
        #expect(second.hasPrefix("before\n") && second.hasSuffix("\nafter\n"))
        #expect(TortureTable.page(second, with: [row]) == second)
    }
}
