import MirrorTestSupport
import Testing

/// The scenario format's own rules.
@Suite struct ScenarioReaderTests {
    @Test(arguments: [
        ("", "line 1: expected a title"),
        ("Title", "line 1: expected a phase"),
        ("Title\nphase x\n  exit 0", "line 2: expected sync or run"),
        ("Title\nphase x\n  syncc", "line 3: syncc is no line of a phase"),
        ("Title\nphase x\n  sync\n  tree\n    a = v1", "line 5: no bytes are named v1"),
        ("Title\nbytes v = 10", "line 2: expected: COUNT seed=N"),
        ("Title\nphase x\n  sync %NOWHERE%", "line 3: %NOWHERE% stands for nothing"),
        ("Title\nphase x\n  on GET /a\n  sync", "line 3: expected a reply"),
        (
            "Title\nphase x\n  on GET /a\n    reply\n      @jump\n  sync",
            "line 5: @jump is no directive"
        ),
        (
            "Title\nbytes v = 10 seed=1\nphase x\n  on GET /a\n    reply\n      @send v[5-10]",
            "line 6: 5-10 is no range of 10 bytes"
        ),
    ])
    func errorInAScenarioNamesItsLine(_ text: String, _ message: String) {
        let flaw = #expect(throws: ScenarioFlaw.self) { try ScenarioRunner.check(text) }
        #expect(flaw?.description == message)
    }
}
