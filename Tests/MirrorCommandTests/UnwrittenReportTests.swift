import MirrorTestSupport
import Testing

/// A report that could not be written is not a report: the command says so, and does not exit 0.
@Suite(.timeLimit(.minutes(15))) struct UnwrittenReportTests {
    @Test(arguments: ["plan", "plan --json", "status", "verify", "verify --json", "check", "sync"])
    func aFullDiskForOutputIsAnError(_ verb: String) async throws {
        try await DetachedThread.run {
            let program = BuiltProgram.path(of: "mirror")
            let ground = try Playground(program: program)
            defer { ground.remove() }
            try ground.root.makeFolders(above: ".mirror/.")
            let manifest = try ground.write(manifest: #"{"name":"t","resources":[]}"#)
            let script = "MIRROR_ROOT='\(ground.root.path)' '\(program)' \(verb) '\(manifest)'"
            let result = try Command.run("/bin/sh", ["-c", "exec >/dev/full; \(script)"])
            #expect(result.ending == .exited(74), "\(result)")
            #expect(result.errors.contains("standard output cannot be written"), "\(result)")
        }
    }
}
