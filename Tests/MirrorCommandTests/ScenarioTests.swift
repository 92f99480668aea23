import MirrorTestSupport
import Testing

/// Every file of `Scenarios/` against the built program.
@Suite struct ScenarioTests {
    @Test(arguments: ScenarioFile.all) func everyFileCanBeRead(_ file: ScenarioFile) throws {
        let scenario = try ScenarioRunner.check(file.text())
        #expect(!scenario.title.isEmpty)
    }

    @Test(arguments: ScenarioFile.all)
    func everyScenarioHolds(_ file: ScenarioFile) async throws {
        let text = try file.text()
        let report = try await ScenarioFile.crew.run {
            try ScenarioRunner(program: BuiltProgram.path(of: "mirror")).run(text)
        }
        let complaints = report.complaints.joined(separator: "\n")
        #expect(report.complaints.isEmpty, "\(complaints)\n\(report.transcript)")
    }
}
