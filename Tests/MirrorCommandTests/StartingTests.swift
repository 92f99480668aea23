import Glibc
import MirrorTestSupport
import Testing

/// What a program finds when it begins: descriptors that are closed, and no words on the stack.
@Suite(.timeLimit(.minutes(15))) struct StartingTests {
    /// Runs mirror from a shell line in which `$0` is the program, `$1` a manifest of one file.
    private func run(
        _ line: String, _ body: @escaping @Sendable (Playground, Command.Result) throws -> Void
    ) async throws {
        try await DetachedThread.run {
            let shelf = MemoryShelf()
            let bytes = TestBytes.make(5000, seed: 1)
            shelf.put("/a", bytes)
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            let program = BuiltProgram.path(of: "mirror")
            let ground = try Playground(program: program)
            defer { ground.remove() }
            let manifest = try ground.write(
                manifest: """
                    {"name":"t","resources":[{"path":"Caches/a","url":"\(server.url)/a"}]}
                    """)
            let result = try Command(
                "/bin/sh", ["-c", line, program, manifest],
                environment: ["MIRROR_ROOT": ground.root.path, "PATH": "/usr/bin:/bin"]
            ).wait()
            try body(ground, result)
            if ground.root.size("Caches/a") != nil {
                #expect(ground.root.read("Caches/a") == bytes)
            }
            // Whatever was printed went into no file of the tree.
            let again = try ground.sync(manifest).wait()
            #expect(again.ending == .exited(0), "\(again)")
            #expect(!again.errors.contains("damaged"), "\(again.errors)")
            #expect(ground.parts().isEmpty)
        }
    }

    @Test func aClosedOutputIsAnUnwrittenReport() async throws {
        try await run("exec \"$0\" sync \"$1\" --json >&-") { ground, result in
            #expect(result.ending == .exited(74), "\(result)")
            #expect(result.errors.contains("standard output cannot be written"), "\(result)")
            #expect(ground.root.size("Caches/a") == 5000)
        }
    }

    @Test(arguments: ["2>&-", "<&-", "<&- 2>&-"])
    func runWorksWithOtherStandardStreamsClosed(_ redirection: String) async throws {
        try await run("exec \"$0\" sync \"$1\" --json \(redirection)") { ground, result in
            #expect(result.ending == .exited(0), "\(result)")
            #expect(result.summary("fetched") == "1", "\(result)")
        }
    }

    @Test func withoutStandardStreamsTheExitIs74() async throws {
        try await run("exec \"$0\" sync \"$1\" <&- >&- 2>&-") { ground, result in
            #expect(result.ending == .exited(74), "\(result)")
            #expect(ground.root.size("Caches/a") == 5000)
        }
    }

    @Test func closedStandardInputIsAnUnreadableManifest() async throws {
        try await run("exec \"$0\" sync - <&-") { _, result in
            #expect(result.ending == .exited(66), "\(result)")
        }
    }

    /// EFBIG instead of SIGXFSZ: the lock, the index or the part cannot be written.
    @Test(arguments: [0, 4096])
    func aFileSizeLimitIsADiskFailure(_ bytes: Int) async throws {
        try await run("exec prlimit --fsize=\(bytes) \"$0\" sync \"$1\"") { ground, result in
            #expect(result.ending == .exited(74), "\(result)")
            #expect(ground.root.size("Caches/a") == nil)
        }
    }

    @Test func aLowLimitOfOpenFilesIsRaised() async throws {
        try await run("ulimit -Sn 16; exec \"$0\" sync \"$1\" --json") { ground, result in
            #expect(result.ending == .exited(0), "\(result)")
            #expect(result.summary("fetched") == "1", "\(result)")
        }
    }

    @Test func tooLowAnOpenFileLimitIsNamed() async throws {
        try await run("ulimit -n 16; exec \"$0\" sync \"$1\"") { ground, result in
            #expect(result.ending == .exited(74), "\(result)")
            #expect(result.errors.contains("no file can be opened"), "\(result)")
            #expect(result.errors.contains("ulimit -n"), "\(result)")
        }
    }

    /// Whether a process has come so far that it answers to SIGTERM by itself (proc(5), SigBlk).
    private func blocksSIGTERM(_ pid: Int32) -> Bool {
        let status = String(decoding: Folder("/proc/\(pid)").read("status") ?? [], as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        let mask = line.flatMap { UInt64($0.dropFirst(8), radix: 16) } ?? 0
        return mask & 1 << UInt64(SIGTERM - 1) != 0
    }

    /// Swift's runtime waits for ever for a thread that the system does not give it.
    @Test(
        .enabled(if: BuiltProgram.exists("/usr/bin/strace"), "strace is not installed"),
        .disabled(if: Sanitizers.areOn, "a sanitizer needs a thread of its own"))
    func withoutThreadsARunEndsAtASignal() async throws {
        try await DetachedThread.run {
            let shelf = MemoryShelf()
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            let resources = (0..<60).map { number in
                shelf.put("/\(number)", TestBytes.make(500, seed: UInt64(number)))
                return "{\"path\":\"Caches/\(number)\",\"url\":\"\(server.url)/\(number)\"}"
            }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let manifest = try ground.write(
                manifest: "{\"name\":\"t\",\"resources\":[\(resources.joined(separator: ","))]}")
            for _ in 1...4 {
                let run = try ground.start(
                    ["sync", manifest, "--json", "--refresh"],
                    under: [
                        "/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null",
                        "-e", "trace=clone3", "-e", "inject=clone3:error=EAGAIN:when=3+",
                    ])
                for _ in 0..<2000 where !run.hasEnded && !blocksSIGTERM(run.pid) {
                    Pause.milliseconds(10)
                }
                Pause.milliseconds(1000)
                run.signal(SIGTERM)
                let result = run.wait(seconds: 20)
                #expect(
                    [.exited(0), .exited(74), .exited(143)].contains(result.ending), "\(result)")
            }
            let again = try ground.sync(manifest).wait()
            #expect(again.ending == .exited(0), "\(again)")
        }
    }
}
