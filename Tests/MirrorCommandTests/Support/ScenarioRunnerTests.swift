import Glibc
import MirrorTestSupport
import Testing

/// The runner against programs that are not mirror: each expectation must be able to fail.
@Suite struct ScenarioRunnerTests {
    /// Runs a scenario against a shell script; gives the complaints.
    private func complaints(_ script: String, _ phase: String) async throws -> [String] {
        try await DetachedThread.run {
            let folder = try Folder.temporary()
            defer { folder.remove() }
            try folder.write("program", Array("#!/bin/sh\n\(script)\n".utf8))
            chmod(folder.full("program"), 0o755)
            return try ScenarioRunner(program: folder.full("program")).run(
                """
                A title
                bytes v1 = "one"
                bytes v2 = "two"
                manifest
                  {}
                phase only
                \(phase)
                """
            ).complaints
        }
    }

    @Test func scenarioHoldsWhenTheProgramDoesAsExpected() async throws {
        let script = """
            cd "$MIRROR_ROOT" && mkdir -p Caches .mirror tmp && echo x > .mirror/index
            curl -s -H 'X-Key: k' "$(cat "$HOME/url")" > Caches/a
            printf two > tmp/b.0123.part; chmod 755 Caches/a
            echo '{"event":"done","path":"Caches/a","bytesReceived":3,"source":null}'
            echo a warning >&2; exit 69
            """
        let phase = """
              file url
                %ORIGIN%/a
              on GET /a
                need X-Key: k
                no Range
                reply
                  HTTP/1.1 200 OK
                  @body v1
              sync
              exit 69
              tree
                Caches/a = v1
                mode Caches/a 755
                part Caches/b at-least 3
              event done path=Caches/a bytesReceived>=3 bytesReceived<=3 source=null path~ches
              events 1 done
              no-event failed
              stderr a warning
              no-stderr an error
            """
        #expect(try await complaints(script, phase) == [])
    }

    @Test(arguments: [
        ("exit 0", "exit 1", "exit 0, not exit 1"),
        ("kill -9 $$", "exit 0", "signal 9, not exit 0"),
        ("exit 0", "exit killed", "exit 0, not signal 9"),
        ("exit 0", "event done", "no event is: done"),
        ("echo '{\"event\":\"done\",\"n\":1}'", "event done n=2", "no event is: done n=2"),
        ("echo '{\"event\":\"done\",\"n\":1}'", "event done n>=2", "no event is: done n>=2"),
        ("echo '{\"event\":\"done\"}'", "no-event done", "1 events, not 0, are: done"),
        ("exit 0", "summary exit=0", "0 events, not 1, are: summary exit=0"),
        ("echo x", "document v=1", "stdout is no JSON document"),
        (
            "echo '{\"steps\":[{\"step\":\"keep\"}]}'", "step step=fetch",
            "no step is: step step=fetch"
        ),
        ("exit 0", "stderr oh", "stderr lacks: oh"),
        ("echo secret", "no-stdout secret", "stdout has: secret"),
        ("exit 0", "on GET /a\n    reply\n      HTTP/1.1 204 x", "GET /a never came"),
    ])
    func scenarioReportsAnUnexpectedResult(
        _ script: String, _ line: String, _ complaint: String
    ) async throws {
        let found = try await complaints(script, "  sync\n  \(line)")
        #expect(found.contains { $0.hasSuffix(complaint) }, "\(found)")
    }

    @Test(arguments: [
        ("exit 0", "Caches/a = v1", "tree: Caches/a is absent"),
        ("mkdir Caches; printf twx > Caches/a", "Caches/a = v2", "different from byte 2 on"),
        ("mkdir Caches; printf tw > Caches/a", "Caches/a = v2", "equal as far as both go"),
        ("touch b", "empty", "tree: b was not expected (0 bytes)"),
        ("mkdir tmp; touch tmp/a.0.part", "empty", "tree: tmp/a.0.part was not expected (0 bytes)"),
        ("exit 0", "part Caches/a", "tree: no part of Caches/a"),
        (
            "mkdir tmp; printf two > tmp/a.0.part", "part Caches/a at-least 4",
            "tmp/a.0.part has 3 bytes, not 4"
        ),
        ("cp old new; mv new old", "untouched old", "tree: old was touched"),
        ("exit 0", "mode old 700", "tree: the mode of old is 420"),
        ("touch -d @5 old", "modified old 6", "tree: old was modified at 5"),
        ("exit 0", "absent old", "tree: old is there"),
        ("exit 0", "link old", "tree: old is no symbolic link"),
    ])
    func aTreeThatIsOtherwiseIsAComplaint(
        _ script: String, _ line: String, _ complaint: String
    ) async throws {
        let phase = "  edit\n    old = v1\n    chmod old 644\n  sync\n  tree\n    \(line)"
        let found = try await complaints("cd \"$MIRROR_ROOT\"; \(script)", phase)
        #expect(found.contains { $0.hasSuffix(complaint) }, "\(found)")
    }

    @Test func scenarioStopsAfterAFailedPhase() async throws {
        let found = try await complaints("exit 3", "  sync\nphase next\n  sync\n  exit 4")
        #expect(found == ["exit 3, not exit 0"])
    }
}
