import Glibc
import MirrorTestSupport
import Testing

/// Runs that other processes look at and steer: real programs, real sockets.
@Suite(.timeLimit(.minutes(10))) struct ControlTests {
    private let ground: Playground
    private let shelf = MemoryShelf()
    private let origin: ShelfOrigin
    private let server: OriginServer
    private let manifest: String

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        try ground.folder.makeFolders(above: "run/.")
        #expect(chmod(ground.folder.full("run"), 0o700) == 0)
        // Every body stops after 100,000 bytes until it is released.
        origin = ShelfOrigin(shelf, holdingAfter: 100_000)
        server = try OriginServer(responder: origin)
        for name in ["a", "b"] { shelf.put("/\(name)", [UInt8](repeating: 7, count: 300_000)) }
        manifest = try ground.write(
            manifest: """
                { "name": "m", "resources": [
                  { "path": "Caches/a", "url": "\(server.url)/a" },
                  { "path": "Caches/b", "url": "\(server.url)/b" } ] }
                """)
    }

    private func end() {
        server.stop()
        ground.remove()
    }

    private func start(_ words: [String], runtime: String? = nil) throws -> Command {
        try Command(
            BuiltProgram.path(of: "mirror"), words, environment: environment(runtime: runtime))
    }

    private func environment(runtime: String? = nil) -> [String: String] {
        [
            "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": runtime ?? ground.folder.full("run"),
            // Without it, runs of other tests would be found in /tmp.
            "TMPDIR": ground.folder.path,
        ]
    }

    private func run(_ words: String...) async throws -> Command.Result { try await run(words) }

    private func run(_ words: [String]) async throws -> Command.Result {
        let command = try start(words)
        return try await DetachedThread.run { command.wait() }
    }

    /// A sync whose transfers are both under way.
    private func startedSync(_ words: [String] = []) async throws -> Command {
        let sync = try start(["sync", manifest, "--json", "--segments", "1"] + words)
        for _ in 0..<1200 where ground.parts().count < 2 { Pause.milliseconds(50) }
        #expect(ground.parts().count == 2)
        return sync
    }

    private func wait(for command: Command) async throws -> Command.Result {
        try await DetachedThread.run { command.wait() }
    }

    private var sockets: [String] { Folder(ground.folder.full("run/mirror")).entries().map(\.name) }

    @Test func aRunIsFoundAndLeavesNothingBehind() async throws {
        defer { end() }
        let sync = try await startedSync()
        let jobs = try await run("jobs", "--json")
        #expect(jobs.output.contains("\"pid\":\(sync.pid),\"verb\":\"sync\""), "\(jobs)")
        #expect(jobs.output.contains("\"state\":\"running\""))
        #expect(sockets.count == 1)
        var status = stat()
        #expect(lstat(ground.folder.full("run/mirror/\(sockets.first ?? "")"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
        #expect(sockets == [])
        #expect(try await run("jobs").output == "Nothing runs.\n")
    }

    /// As in containers and cron, where no folder for sockets is named.
    @Test func aRunIsFoundWithoutARuntimeFolder() async throws {
        defer { end() }
        let sync = try start(["sync", manifest, "--json", "--segments", "1"], runtime: "/nowhere")
        for _ in 0..<1200 where ground.parts().count < 2 { Pause.milliseconds(50) }
        let folder = ground.folder.full("mirror-\(geteuid())")
        var status = stat()
        #expect(lstat(folder, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        let jobs = try await wait(for: start(["jobs", "--json"], runtime: "/elsewhere"))
        #expect(jobs.output.contains("\"pid\":\(sync.pid)"), "\(jobs)")
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
        // It never says that nothing runs where it cannot look.
        #expect(chmod(folder, 0o777) == 0)
        let blind = try await wait(for: start(["jobs"], runtime: "/elsewhere"))
        #expect(blind.ending == .exited(74))
        #expect(blind.errors.contains("cannot be looked for"), "\(blind)")
    }

    @Test func aPausedFileWaitsUntilItIsResumed() async throws {
        defer { end() }
        let sync = try await startedSync()
        let paused = try await run("pause", "Caches/a")
        #expect(paused.output == "paused Caches/a\n", "\(paused)")
        origin.release()
        for _ in 0..<1200 where ground.root.read("Caches/b") == nil { Pause.milliseconds(50) }
        #expect(ground.root.read("Caches/b")?.count == 300_000)
        #expect(!sync.hasEnded)
        #expect(try await run("resume", "Caches/a").ending == .exited(0))
        let result = try await wait(for: sync)
        #expect(result.ending == .exited(0), "\(result)")
        #expect(result.summary("fetched") == "2")
    }

    /// One file of each kind: the run has begun with the first, and the last waits for its turn until all
    /// others had theirs.
    @Test func resumingEverythingEndsPausesOfSingleFiles() async throws {
        defer { end() }
        let names = (0..<600).map { "f\($0)" }
        for name in names { shelf.put("/" + name, [7]) }
        let others = names.map { #"{ "path": "Caches/\#($0)", "url": "\#(server.url)/\#($0)" }"# }
        let many = try ground.write(
            manifest: """
                { "name": "n", "resources": [
                  { "path": "Caches/a", "url": "\(server.url)/a", "priority": 1 },
                  \(others.joined(separator: ", ")) ] }
                """)
        let sync = try start(["sync", many, "--json", "--segments", "1", "--jobs", "1"])
        for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
        let paused = try await run("pause", "Caches/f0", "Caches/f99")
        #expect(paused.ending == .exited(0), "\(paused)")
        #expect(try await run("resume").output == "resumed everything\n")
        origin.release()
        let result = try await wait(for: sync)
        #expect(result.ending == .exited(0), "\(result)")
        #expect(result.summary("fetched") == "601")
    }

    @Test func aPausedRunIsListedAsPaused() async throws {
        defer { end() }
        let sync = try await startedSync()
        #expect(try await run("pause").output == "paused everything\n")
        #expect(try await run("jobs").output.contains("  paused since "))
        #expect(try await run("resume").ending == .exited(0))
        #expect(try await run("jobs").output.contains("  running since "))
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
    }

    @Test func resumingEverythingResumesSinglePausedFiles() async throws {
        defer { end() }
        try ground.root.makeFolders(above: ".mirror/.")
        origin.release()
        #expect(try await run("pause", "--sticky", "Caches/a").ending == .exited(0))
        #expect(try await run("resume").output == "resumed everything\n")
        let sync = try await run("sync", manifest, "--json")
        #expect(sync.summary("fetched") == "2", "\(sync)")
    }

    /// One that stays paused must not be called resumed.
    @Test func noFileResumesWhileEverythingIsPaused() async throws {
        defer { end() }
        try ground.root.makeFolders(above: ".mirror/.")
        origin.release()
        #expect(try await run("pause", "--sticky").ending == .exited(0))
        let resumed = try await run("resume", "Caches/a")
        #expect(resumed.ending != .exited(0), "\(resumed)")
        #expect(!resumed.output.contains("resumed"), "\(resumed)")
        let sync = try await run("sync", manifest, "--json")
        #expect(sync.summary("deferred") == "2", "\(sync)")
    }

    @Test func aSleepingWatchFetchesAResumedFile() async throws {
        defer { end() }
        try ground.root.makeFolders(above: ".mirror/.")
        origin.release()
        #expect(try await run("pause", "--sticky", "Caches/a").ending == .exited(0))
        let watch = try await sleepingWatch()
        #expect(ground.root.read("Caches/b") != nil)
        #expect(ground.root.read("Caches/a") == nil)
        #expect(try await run("resume", "Caches/a").output == "resumed Caches/a\n")
        for _ in 0..<1200 where ground.root.read("Caches/a") == nil { Pause.milliseconds(50) }
        #expect(ground.root.read("Caches/a")?.count == 300_000)
        watch.signal(SIGTERM)
        #expect(try await wait(for: watch).ending == .exited(143))
    }

    @Test(arguments: [
        ["pause"], ["pause", "Caches/a"], ["cancel"], ["cancel", "--discard", "Caches/a"],
    ])
    func aWatchThatSleepsHasNothingToSteer(words: [String]) async throws {
        defer { end() }
        origin.release()
        let watch = try await sleepingWatch()
        let result = try await run(words)
        #expect(result.ending == .exited(69), "\(result)")
        #expect(result.output.isEmpty, "\(result)")
        #expect(
            result.errors.contains("no run is under way at the moment: the watch sleeps until "),
            "\(result)")
        #expect(result.errors.contains("mirror pause --sticky") == (words[0] == "pause"))
        watch.signal(SIGTERM)
        #expect(try await wait(for: watch).ending == .exited(143))
    }

    /// Of two processes in a root, one may have nothing to steer.
    @Test func aRunBesideASleepingWatchIsSteered() async throws {
        defer { end() }
        let other = try ground.write(manifest: #"{ "name": "o", "resources": [] }"#, as: "o.json")
        let watch = try await sleepingWatch(other)
        let sync = try await startedSync()
        let paused = try await run("pause", "Caches/a")
        #expect(paused.ending == .exited(0), "\(paused)")
        #expect(paused.output == "paused Caches/a\n")
        let cancelled = try await run("cancel")
        #expect(cancelled.ending == .exited(0), "\(cancelled)")
        #expect(try await wait(for: sync).ending == .exited(130))
        #expect(!watch.hasEnded)
        watch.signal(SIGTERM)
        #expect(try await wait(for: watch).ending == .exited(143))
    }

    /// A watch after its first sync.
    private func sleepingWatch(_ manifest: String? = nil) async throws -> Command {
        let watch = try start(["watch", manifest ?? self.manifest, "--every", "1h"])
        for _ in 0..<1200 {
            if try await run("jobs").output.contains("sleeps until") { return watch }
            Pause.milliseconds(50)
        }
        Issue.record("no sync has ended: \(watch.errorsSoFar)")
        return watch
    }

    @Test func whatIsPausedStaysPausedUntilResumed() async throws {
        defer { end() }
        let sync = try await startedSync()
        #expect(try await run("pause", "--sticky", "Caches/a").ending == .exited(0))
        origin.release()
        let first = try await wait(for: sync)
        #expect(first.ending == .exited(0), "\(first)")
        #expect(first.summary("deferred") == "1")
        #expect(first.output.contains("\"reason\":\"paused\""))
        let second = try await run("sync", manifest, "--json")
        #expect(second.summary("deferred") == "1", "\(second)")
        #expect(try await run("resume", "Caches/a").ending == .exited(0))
        let third = try await run("sync", manifest, "--json")
        #expect(third.summary("resumed") == "1", "\(third)")
        #expect(ground.root.read(".mirror/paused.json") == nil)
    }

    @Test(arguments: [false, true])
    func aCancelledRunKeepsItsPartsUnlessDiscarded(discards: Bool) async throws {
        defer { end() }
        let sync = try await startedSync()
        let command = try start(["cancel"] + (discards ? ["--discard"] : []))
        #expect(try await wait(for: command).ending == .exited(0))
        let result = try await wait(for: sync)
        #expect(result.ending == .exited(130), "\(result)")
        #expect(ground.parts().count == (discards ? 0 : 2))
    }

    @Test func cancellingOneFileEndsItAlone() async throws {
        defer { end() }
        let sync = try await startedSync()
        let unknown = try await run("cancel", "Caches/x")
        #expect(unknown.ending == .exited(1), "\(unknown)")
        #expect(unknown.errors.contains("Caches/x: no run fetches it"), "\(unknown)")
        let cancelled = try await run("cancel", "--discard", "Caches/a")
        #expect(cancelled.output == "cancelled Caches/a\n", "\(cancelled)")
        origin.release()
        let result = try await wait(for: sync)
        #expect(result.summary("fetched") == "1", "\(result)")
        #expect(ground.root.read("Caches/a") == nil)
        #expect(ground.root.read("Caches/b")?.count == 300_000)
        #expect(ground.parts() == [])
    }

    @Test func resumingNothingIsSaid() async throws {
        defer { end() }
        try ground.root.makeFolders(above: ".mirror/.")
        let nothing = try await run("resume")
        #expect(nothing.ending == .exited(69), "\(nothing)")
        #expect(nothing.errors.contains("no run is under way"), "\(nothing)")
        #expect(try await run("pause", "--sticky").ending == .exited(0))
        let resumed = try await run("resume")
        #expect(resumed.ending == .exited(0), "\(resumed)")
        #expect(resumed.output == "resumed everything\n")
    }

    /// Each reads what is paused, adds to it and writes it; none may undo another.
    @Test func pausesAtTheSameTimeAllCount() async throws {
        defer { end() }
        try ground.root.makeFolders(above: ".mirror/.")
        let targets = (0..<10).map { "Caches/f\($0)" }
        let pauses = try targets.map { try start(["pause", "--sticky", $0]) }
        for pause in pauses {
            let result = try await wait(for: pause)
            #expect(result.ending == .exited(0), "\(result)")
        }
        let paused = String(decoding: ground.root.read(".mirror/paused.json") ?? [], as: UTF8.self)
        #expect(targets.allSatisfy { paused.contains("\"\($0)\"") }, "\(paused)")
    }

    /// A change that cannot be made beside another one is not made, and says so.
    @Test func aChangeBesideAnEndlessOneIsRefused() async throws {
        defer { end() }
        try ground.root.makeFolders(above: ".mirror/.")
        let folder = open(ground.root.full(".mirror"), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(folder) }
        #expect(flock(folder, LOCK_EX) == 0)
        let changes = [["settings", "set", "jobs", "3"], ["pause", "--sticky", "Caches/a"]]
        for change in try changes.map({ try start($0) }) {
            let result = try await wait(for: change)
            #expect(result.ending == .exited(75), "\(result)")
            #expect(result.errors.contains("Try again later."), "\(result)")
        }
        #expect(ground.root.read(".mirror/settings.json") == nil)
        #expect(ground.root.read(".mirror/paused.json") == nil)
        #expect(flock(folder, LOCK_UN) == 0)
        for change in changes { #expect(try await run(change).ending == .exited(0)) }
    }

    /// A run that cannot accept anybody does not turn without rest, and answers when it can.
    @Test func withoutFreeDescriptorsARunAnswersLater() async throws {
        defer { end() }
        let sync = try await startedSync()
        let open = Set(Folder("/proc/\(sync.pid)/fd").names(in: "").compactMap { Int($0) })
        let free = try #require((0...open.count).first { !open.contains($0) })
        func allow(_ count: Int) throws {
            let words = ["--pid=\(sync.pid)", "--nofile=\(count):"]
            let set = try Command.run("/usr/bin/prlimit", words)
            #expect(set.ending == .exited(0), "\(set)")
        }
        try allow(free)
        let client = LocalSocket(
            connectingTo: ground.folder.full("run/mirror/\(sockets.first ?? "")"))
        #expect(client.send(Array("{\"v\":1,\"do\":\"describe\"}\n".utf8)))
        client.finishSending()
        func used() throws -> Int { try #require(ProcessStat(sync.pid)).processorTime }
        let before = try used()
        Pause.milliseconds(3000)
        // Who turned without rest would have used all of it, or its share of a busy machine.
        #expect(try used() - before < 300)
        try allow(256)
        #expect(client.receive().contains("\"verb\":\"sync\""))
        origin.release()
        let result = try await wait(for: sync)
        #expect(result.ending == .exited(0), "\(result)")
    }

    @Test func aFollowerSeesTheRestOfARun() async throws {
        defer { end() }
        let sync = try await startedSync()
        let live = try startedLive()
        let isTold = try await DetachedThread.run { live.wait(for: "running since") }
        #expect(isTold)
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
        #expect(try await DetachedThread.run { live.wait() } == 0)
        #expect(live.occurrences(of: "fetched  Caches/") == 2)
    }

    @Test func followersLearnThatARunWasKilled() async throws {
        defer { end() }
        let sync = try await startedSync()
        let live = try startedLive()
        let isTold = try await DetachedThread.run { live.wait(for: "running since") }
        #expect(isTold)
        sync.signal(SIGKILL)
        _ = try await wait(for: sync)
        #expect(try await DetachedThread.run { live.wait() } == 69)
        #expect(live.count(of: "told no more before its run had ended") == 1)
    }

    private func startedLive() throws -> TerminalRecording {
        try TerminalRecording(
            BuiltProgram.path(of: "mirror"), ["jobs", "--live"],
            environment: environment().merging(["TERM": "xterm"]) { $1 })
    }

    @Test func theLiveDisplayNeedsATerminal() async throws {
        defer { end() }
        try ground.folder.makeFolders(above: "root/.mirror/.")
        let result = try await run("jobs", "--live")
        #expect(result.ending == .exited(64), "\(result)")
        #expect(result.errors.contains("--live needs a terminal"), "\(result)")
    }

    @Test func targetsThatNoRunFetchesAreNamed() async throws {
        defer { end() }
        let sync = try await startedSync()
        let result = try await run("pause", "Caches/a", "Caches/x", "--json")
        #expect(result.ending == .exited(1), "\(result)")
        #expect(result.output.contains("\"targets\":[\"Caches/a\"]"))
        #expect(result.output.contains("\"unknown\":[\"Caches/x\"]"))
        sync.signal(SIGTERM)
        _ = try await wait(for: sync)
    }

    @Test(arguments: ["pause", "cancel"])
    func withoutARunThereIsNothingToSteer(verb: String) async throws {
        defer { end() }
        try ground.folder.makeFolders(above: "root/.mirror/.")
        let result = try await run(verb)
        #expect(result.ending == .exited(69), "\(result)")
        #expect(result.errors.contains("no run is under way at the moment"))
    }

    @Test func aFolderThatOthersMayWriteIsRefused() async throws {
        defer { end() }
        origin.release()
        #expect(chmod(ground.folder.full("run"), 0o777) == 0)
        let result = try await run("sync", manifest, "--json")
        #expect(result.ending == .exited(0), "\(result)")
        #expect(Folder(ground.folder.full("run")).entries().isEmpty)
    }

    /// As `socat` and `nc -N` do.
    @Test func aCompleteRequestGetsItsAnswer() async throws {
        defer { end() }
        let sync = try await startedSync()
        let client = LocalSocket(
            connectingTo: ground.folder.full("run/mirror/\(sockets.first ?? "")"))
        _ = client.send(Array("{\"v\":1,\"do\":\"describe\"}\n".utf8))
        client.finishSending()
        #expect(client.receive().contains("\"verb\":\"sync\""))
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
    }

    /// As after Ctrl-Z.
    @Test func aStoppedRunIsListedAndDelaysNothing() async throws {
        defer { end() }
        let sync = try await startedSync()
        #expect(kill(sync.pid, SIGSTOP) == 0)
        let socket = ground.folder.full("run/mirror/\(sockets.first ?? "")")
        // As many as wait to be accepted; one more would wait for ever.
        let clients = (0..<17).map { _ in LocalSocket(connectingTo: socket) }
        let jobs = try await run("jobs")
        #expect(jobs.output == "\(sync.pid)  does not answer\n")
        #expect(try await run("jobs", "--json").output.contains("\"silent\":[\(sync.pid)]"))
        withExtendedLifetime(clients) {}
        #expect(kill(sync.pid, SIGCONT) == 0)
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
    }

    @Test func manyTargetsAreSteeredInSeveralRequests() async throws {
        defer { end() }
        let sync = try await startedSync()
        let others = (0..<3000).map { "Caches/some/long/folder/of/tiles/\($0).png" }
        let paused = try await run(["pause", "Caches/a"] + others)
        #expect(paused.ending == .exited(1))
        #expect(paused.output.contains("paused Caches/a\n"))
        #expect(paused.errors.contains("Caches/some/long/folder/of/tiles/2999.png: no run fetches"))
        _ = try await run("resume")
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
    }

    @Test func sillyOrSilentClientsDelayNothing() async throws {
        defer { end() }
        let sync = try await startedSync()
        let socket = ground.folder.full("run/mirror/\(sockets.first ?? "")")
        let silent = (0..<40).map { _ in LocalSocket(connectingTo: socket) }
        let overlong = LocalSocket(connectingTo: socket)
        for _ in 0..<200 where overlong.send([UInt8](repeating: 65, count: 1 << 10)) {}
        let rude = LocalSocket(connectingTo: socket)
        _ = rude.send(Array("{\"v\":1,\"do\":\"format\"}\n".utf8))
        #expect(rude.receive().contains("this mirror cannot format"))
        #expect(overlong.receive().contains("the request is longer than 64 KiB"))
        #expect(try await run("jobs").output.contains("running since"))
        origin.release()
        #expect(try await wait(for: sync).ending == .exited(0))
        withExtendedLifetime(silent) {}
    }
}
