import MirrorTestSupport
import Testing

/// Runs of the tests under a sanitizer, which `scripts/torture R18` makes.
@Suite struct SanitizersTests {
    /// Otherwise what a program under test did wrong would be reported nowhere.
    @Test(.enabled(if: Sanitizers.areOn)) func startedProcessesInheritTheSanitizersReportPath()
        throws
    {
        let result = try Command.run("/usr/bin/env", [], environment: ["HOME": "/tmp"])
        #expect(result.output.contains("log_path="), "\(result)")
    }
}
