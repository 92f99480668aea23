import Glibc
import MirrorTestSupport
import Testing

/// What a run leaves for those who look after a device, by the built program.
@Suite(.timeLimit(.minutes(15))) struct OperationsTests {
    private let ground: Playground
    private let manifest: String

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        try ground.folder.write("a.txt", Array("hello".utf8))
        manifest = try ground.write(
            manifest: """
                { "name": "m", "resources": [
                  { "path": "Documents/a b.txt", "url": "file://\(ground.folder.full("a.txt"))" },
                  { "path": "Caches/b", "url": "file://\(ground.folder.full("none"))" }
                ] }
                """)
    }

    private func run(_ words: String...) async throws -> Command.Result {
        let (ground, words) = (ground, words)
        return try await DetachedThread.run { try ground.start(words).wait() }
    }

    private func text(_ name: String) -> String {
        String(decoding: ground.folder.read(name) ?? [], as: UTF8.self)
    }

    /// A program that writes what it was told to a file.
    private func hook(_ name: String) throws -> String {
        let path = ground.folder.full(name)
        let script =
            "#!/bin/sh\n{ echo \"$1 exit=$MIRROR_EXIT root=$MIRROR_ROOT\"; cat; } > \(path).out\n"
        try ground.folder.write(name, Array(script.utf8))
        #expect(try Command.run("/bin/chmod", ["+x", path]).ending == .exited(0))
        return path
    }

    @Test func programsGetThePathsOnTheirInput() async throws {
        defer { ground.remove() }
        let (changed, failed) = (try hook("changed"), try hook("failed"))
        let result = try await run(
            "sync", manifest, "--on-change", changed, "--on-change", "-x", "--on-failure", failed)
        #expect(result.ending == .exited(1), "\(result)")
        #expect(
            text("changed.out") == "-x exit=1 root=\(ground.root.path)\nDocuments/a b.txt\n")
        #expect(text("failed.out") == " exit=1 root=\(ground.root.path)\nCaches/b\n")
    }

    @Test func aRunThatChangesNothingStartsNoProgram() async throws {
        defer { ground.remove() }
        _ = try await run("sync", manifest)
        let result = try await run("sync", manifest, "--on-change", try hook("changed"))
        #expect(result.ending == .exited(1), "\(result)")
        #expect(text("changed.out") == "")
    }

    @Test func aRunThatCannotBeginIsAFailure() async throws {
        defer { ground.remove() }
        let result = try await run(
            "sync", ground.folder.full("no.json"), "--on-failure", try hook("failed"),
            "--metrics", ground.folder.full("m.prom"))
        #expect(result.ending == .exited(66), "\(result)")
        #expect(text("failed.out").hasPrefix(" exit=66"))
        #expect(text("m.prom").contains("\nmirror_last_run_exit_code 66\n"))
    }

    /// Beside the one that is asked about every time.
    @Test func aFileThatIsMissingIsDue() async throws {
        defer { ground.remove() }
        _ = try await run("sync", manifest, "--metrics", ground.folder.full("m.prom"))
        #expect(text("m.prom").contains("\nmirror_due_files 2\n"), "\(text("m.prom"))")
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalIsAFailureToo(number: Int32) async throws {
        defer { ground.remove() }
        let shelf = MemoryShelf()
        let server = try OriginServer(responder: ShelfOrigin(shelf, holdingAfter: 100_000))
        defer { server.stop() }
        shelf.put("/a", [UInt8](repeating: 7, count: 300_000))
        try ground.folder.write(
            "m.json",
            Array(
                "{\"name\":\"m\",\"resources\":[{\"path\":\"Caches/a\",\"url\":\"\(server.url)/a\"}]}"
                    .utf8))
        let failed = try hook("failed")
        let sync = try ground.start([
            "sync", ground.folder.full("m.json"), "--on-failure", failed,
            "--metrics", ground.folder.full("m.prom"),
        ])
        for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
        sync.signal(number)
        let result = try await DetachedThread.run { sync.wait() }
        #expect(result.ending == .exited(128 + number), "\(result)")
        #expect(text("m.prom").contains("\nmirror_last_run_exit_code \(128 + number)\n"))
        // To count them takes as long as a plan, and whoever sent the signal waits.
        #expect(!text("m.prom").contains("\nmirror_due_files "))
        #expect(text("failed.out").hasPrefix(" exit=\(128 + number)"))
    }

    /// It, and what it started, are ended, and the summary tells the exit code.
    @Test(arguments: ["deadline", "signal"])
    func aSlowProgramEndsWithTheCommand(_ cause: String) async throws {
        defer { ground.remove() }
        let mark = ground.folder.full("mark")
        let script = "sleep 600 & echo $! > \(mark); wait"
        let words = [
            "sync", manifest, "--json", "--on-change", "sh", "--on-change", "-c", "--on-change",
            script,
        ]
        let sync = try ground.start(words + (cause == "deadline" ? ["--deadline", "2s"] : []))
        for _ in 0..<1200 where text("mark").isEmpty { Pause.milliseconds(50) }
        if cause == "signal" { sync.signal(SIGTERM) }
        let result = try await DetachedThread.run { sync.wait() }
        // The other file of the manifest fails for good, which a deadline does not change.
        let exit: Int32 = cause == "signal" ? 143 : 1
        #expect(result.ending == .exited(exit), "\(result)")
        #expect(result.summary("exit") == "\(exit)", "\(result)")
        let code = result.summary?["error"]?["code"]?.word
        #expect(code == (cause == "signal" ? "cancelled" : "deadline"), "\(result)")
        let started = try #require(Int32(text("mark").split(separator: "\n")[0]))
        for _ in 0..<1200 where kill(started, 0) == 0 { Pause.milliseconds(50) }
        #expect(kill(started, 0) != 0)
    }

    @Test func aProgramPastTheDeadlineIsExit69() async throws {
        defer { ground.remove() }
        try ground.folder.write("none", Array("there".utf8))
        let result = try await run(
            "sync", manifest, "--json", "--deadline", "2s", "--on-change", "sleep", "--on-change",
            "600")
        #expect(result.ending == .exited(69), "\(result)")
        #expect(result.summary("exit") == "69", "\(result)")
        #expect(result.summary("fetched") == "2", "\(result)")
    }

    @Test(arguments: ["check", "import"])
    func anEndlessManifestEndsAtTheDeadline(_ verb: String) async throws {
        defer { ground.remove() }
        let pipe = ground.folder.full("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let result = try await run(verb, pipe, "--deadline", "1s")
        #expect(result.ending == .exited(69), "\(result)")
        #expect(result.errors.contains("The deadline of 1 s"), "\(result)")
    }

    @Test(arguments: ["--log", "--metrics"], [".mirror/index.sqlite", "Caches/x"])
    func noReportIsWrittenAmongTheRootsFiles(_ option: String, _ name: String) async throws {
        defer { ground.remove() }
        try ground.folder.write("none", Array("there".utf8))
        _ = try await run("sync", manifest)
        let before = ground.root.read(name)
        // A link from outside leads there too.
        let link = ground.folder.full("link")
        #expect(symlink(ground.root.full(name), link) == 0)
        for path in [ground.root.full(name), link] {
            let result = try await run("sync", manifest, option, path)
            #expect(result.ending == .exited(64), "\(result)")
            #expect(result.errors.contains("among the files that mirror keeps"), "\(result)")
            #expect(ground.root.read(name) == before)
        }
    }

    @Test(arguments: [("settings.json", 74), ("paused.json", 73), ("index.sqlite", 74)])
    func aFolderForAFileKeepsExitCodes(_ name: String, exit: Int) async throws {
        defer { ground.remove() }
        try ground.root.makeFolders(above: ".mirror/\(name)/x")
        let result = try await run("sync", manifest)
        #expect(result.ending == .exited(Int32(exit)), "\(result)")
        #expect(result.errors.contains("a folder is where the file should be"), "\(result)")
    }

    @Test func aPipeForAManifestUsesTheCopy() async throws {
        defer { ground.remove() }
        try ground.folder.write("none", Array("there".utf8))
        _ = try await run("sync", manifest)
        #expect(unlink(manifest) == 0)
        #expect(mkfifo(manifest, 0o600) == 0)
        let result = try await run("sync", manifest)
        #expect(result.ending == .exited(0), "\(result)")
        #expect(result.errors.contains("this is no file any more"), "\(result)")
    }

    @Test func aRunThatCannotBeginIsLogged() async throws {
        defer { ground.remove() }
        let none = ground.folder.full("no.json")
        let result = try await run(
            "sync", none, "--json", "--log", ground.folder.full("run.log"), "--log-format", "json")
        #expect(result.ending == .exited(66), "\(result)")
        #expect(text("run.log").contains(#""event":"summary""#))
        #expect(text("run.log") == result.output)
    }

    @Test func theLogsSummaryIsThatOfTheCommand() async throws {
        defer { ground.remove() }
        let result = try await run(
            "sync", manifest, "--json", "--log", ground.folder.full("run.log"), "--log-format",
            "json")
        let last = { (text: String) in text.split(separator: "\n").last }
        #expect(last(text("run.log")) == last(result.output), "\(result)")
    }

    @Test func aFailingProgramIsOnlyANote() async throws {
        defer { ground.remove() }
        let result = try await run(
            "sync", manifest, "-q", "--on-change", "sh", "--on-change", "-c", "--on-change",
            "exit 3")
        #expect(result.ending == .exited(1), "\(result)")
        #expect(result.errors.contains("--on-change: sh ended with exit 3."), "\(result)")
        let other = try await run("sync", manifest, "--on-failure", "/nonexistent")
        #expect(other.errors.contains("/nonexistent cannot be started"), "\(other)")
    }

    @Test func theLogGetsOneLineAnEvent() async throws {
        defer { ground.remove() }
        let log = ground.folder.full("run.log")
        _ = try await run("sync", manifest, "--log", log)
        let first = text("run.log")
        #expect(first.contains(" event=done ") && first.contains(" path=\"Documents/a b.txt\" "))
        #expect(first.split(separator: "\n").last?.contains("event=summary") == true)
        _ = try await run("sync", manifest, "--log", log, "--log-format", "json")
        #expect(text("run.log").hasPrefix(first))
        #expect(text("run.log").dropFirst(first.count).hasPrefix("{\"v\":1,\"event\":\"plan\""))
    }

    @Test func aLogThatCannotOpenEndsTheCommand() async throws {
        defer { ground.remove() }
        let result = try await run("sync", manifest, "--log", "/nonexistent/run.log")
        #expect(result.ending == .exited(74), "\(result)")
        #expect(result.errors.contains("the log cannot be opened"))
        #expect(ground.root.read("Documents/a b.txt") == nil)
    }

    /// An index that a log was appended to, or that metrics replaced, is a damaged one.
    @Test func noReportIsWrittenAmongMirrorsFiles() async throws {
        defer { ground.remove() }
        _ = try await run("sync", manifest)
        let root = ground.root
        let before = root.entries().map(\.name)
        let index = root.read(".mirror/index.sqlite")
        symlink(root.full(".mirror/index.sqlite"), ground.folder.full("way"))
        symlink(root.full("Documents/new"), ground.folder.full("nowhere"))
        let places = [
            root.full(".mirror/index.sqlite"), root.full("Documents/new"), root.full("tmp"),
            root.full("Documents/../.mirror/new"), ground.folder.full("way"),
        ]
        for place in places + [ground.folder.full("nowhere")] {
            for words in [
                ["sync", manifest, "--log", place], ["sync", manifest, "--metrics", place],
                ["watch", manifest, "--log", place],
                ["report", "-o", place], ["export", "--as", "sums", "--lossy", "-o", place],
                ["import", "--base", "http://a.example/", manifest + ".sums", "-o", place],
                ["convert", "--to", "xml", manifest, place],
            ] {
                try ground.folder.write(
                    "manifest.json.sums", Array("\(Checksum.sha256([1]))  x\n".utf8))
                let result = try await DetachedThread.run { try ground.start(words).wait() }
                #expect(result.ending == .exited(64), "\(words): \(result)")
            }
        }
        let json = try await run("sync", manifest, "--json", "--log", places[0])
        #expect(json.ending == .exited(64), "\(json)")
        #expect(json.summary("exit") == "64")
        #expect(json.errors.contains("it would lie in .mirror, among the files"), "\(json)")
        #expect(root.entries().map(\.name) == before)
        #expect(root.read(".mirror/index.sqlite") == index)
        #expect(String(decoding: root.read("Documents/a b.txt") ?? [], as: UTF8.self) == "hello")
        // Beside them there is room, and a pipe lies nowhere.
        let words = ["--log", root.full("mirror.log"), "--metrics", root.full("mirror.prom")]
        let beside = try await DetachedThread.run {
            try ground.start(["sync", manifest] + words).wait()
        }
        #expect(beside.ending == .exited(1), "\(beside)")
        #expect(root.size("mirror.log") ?? 0 > 0)
        #expect(root.size("mirror.prom") ?? 0 > 0)
        let told = try await run("sync", manifest, "--log", "/dev/stdout")
        #expect(told.output.contains("event=summary"), "\(told)")
    }

    /// The root of the first sync is not one yet.
    @Test func theFirstLogLiesInNoArea() async throws {
        defer { ground.remove() }
        #expect(mkdir(ground.root.full("Documents"), 0o755) == 0)
        let place = ground.root.full("Documents/log")
        let result = try await run("sync", manifest, "--root", ground.root.path, "--log", place)
        #expect(result.ending == .exited(64), "\(result)")
        #expect(ground.root.names(in: "Documents") == [])
    }

    @Test func metricsKeepTheTimeOfTheLastSuccess() async throws {
        defer { ground.remove() }
        let metrics = ground.folder.full("m.prom")
        try ground.folder.write("none", Array("there".utf8))
        _ = try await run("sync", manifest, "--metrics", metrics)
        let success = "mirror_last_success_timestamp_seconds "
        let line = { (text: String) in text.split(separator: "\n").first { $0.hasPrefix(success) } }
        let first = text("m.prom")
        #expect(first.contains("\nmirror_last_run_exit_code 0\n"), "\(first)")
        #expect(first.contains("\nmirror_resources{outcome=\"fetched\"} 2\n"), "\(first)")
        #expect(first.contains("\nmirror_due_files "), "\(first)")
        #expect(line(first) != nil)
        try ground.folder.write("a.txt", [])
        #expect(try Command.run("/bin/rm", [ground.folder.full("none")]).ending == .exited(0))
        _ = try await run("sync", manifest, "--metrics", metrics, "--refetch", "Caches/b")
        let second = text("m.prom")
        #expect(second.contains("\nmirror_last_run_exit_code 1\n"), "\(second)")
        #expect(second.contains("\nmirror_failures{code=\"source-file-unreadable\"} 1\n"))
        #expect(line(second) == line(first))
    }
}
