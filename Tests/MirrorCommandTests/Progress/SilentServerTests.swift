import MirrorTestSupport
import Testing

/// Commands that ask a server which does not answer: they say what they wait for, and end at a signal.
@Suite(.timeLimit(.minutes(5))) struct SilentServerTests {
    /// Answers nothing until it is stopped.
    private struct Silence: Responder {
        func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
            while connection.pause(milliseconds: 20) {}
            return false
        }
    }

    @Test(arguments: [("probe", "asking the server"), ("check", "reading manifests")])
    func aCommandThatWaitsSaysWhatFor(verb: String, words: String) async throws {
        try await DetachedThread.run {
            let server = try OriginServer(responder: Silence())
            let folder = try Folder.temporary()
            defer {
                server.stop()
                folder.remove()
            }
            let run = try TerminalRecording(
                BuiltProgram.path(of: "mirror"), [verb, server.url + "/m.json"],
                environment: [
                    "HOME": folder.path, "MIRROR_ROOT": folder.full("root"), "LANG": "C.UTF-8",
                    "TERM": "xterm", "PATH": "/usr/bin:/bin",
                ])
            #expect(run.wait(for: words))
            run.type("\u{3}")
            #expect(run.wait() == 130)
        }
    }
}
