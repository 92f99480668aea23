import MirrorTestSupport
import Testing

/// The scenarios that need no option of the command, against a program that uses the library.
@Suite struct LibraryScenarioTests {
    @Test(arguments: ScenarioFile.all.filter(\.needsOnlyTheLibrary))
    func everyPlainScenarioHolds(_ file: ScenarioFile) async throws {
        let text = try file.text()
        let report = try await ScenarioFile.crew.run {
            try ScenarioRunner(program: BuiltProgram.path(of: "mirror-library-driver")).run(text)
        }
        let complaints = report.complaints.joined(separator: "\n")
        #expect(report.complaints.isEmpty, "\(complaints)\n\(report.transcript)")
    }
}

extension ScenarioFile {
    /// Whether every phase is a plain sync, perhaps without retries, and nothing is said of what the
    /// command prints for people or does about signals.
    fileprivate var needsOnlyTheLibrary: Bool {
        guard let text = try? text() else { return false }
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        let commands = lines.filter {
            $0 == "sync" || $0.hasPrefix("sync ") || $0.hasPrefix("run ")
        }
        return !commands.isEmpty
            && commands.allSatisfy { $0 == "sync" || $0 == "sync --retries 0" }
            && !lines.contains { line in
                ["stderr", "stdout", "@signal", "environment", "env "].contains {
                    line.hasPrefix($0)
                }
            }
    }
}
