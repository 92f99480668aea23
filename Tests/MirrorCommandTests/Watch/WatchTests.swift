import Glibc
import MirrorTestSupport
import Synchronization
import Testing

/// `mirror watch`, by the built program: what it does while the world around it changes.
@Suite(.timeLimit(.minutes(10))) struct WatchTests {
    private let ground: Playground
    private let shelf = MemoryShelf()
    private let server: OriginServer

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        server = try OriginServer(responder: ShelfOrigin(shelf))
        shelf.put("/a", Array("one".utf8))
    }

    private func end() {
        server.stop()
        ground.remove()
    }

    private func manifest(_ names: [String], refresh: String = "1h") -> String {
        let resources = names.map {
            #"{ "path": "Caches/\#($0)", "url": "\#(server.url)/\#($0)", "refresh": "\#(refresh)" }"#
        }
        return #"{ "name": "m", "resources": [ \#(resources.joined(separator: ", ")) ] }"#
    }

    private func watch(_ words: [String], _ environment: [String: String] = [:]) throws -> Command {
        try Command(
            BuiltProgram.path(of: "mirror"), ["watch"] + words,
            environment: [
                "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8",
            ].merging(environment) { $1 })
    }

    /// Whether something becomes true within a minute.
    private func happens(_ isTrue: @escaping @Sendable () -> Bool) async throws -> Bool {
        try await DetachedThread.run {
            for _ in 0..<1200 {
                if isTrue() { return true }
                Pause.milliseconds(50)
            }
            return false
        }
    }

    private func text(_ name: String) -> String? {
        ground.root.read(name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Ends the watch with a signal, and says how it ended.
    private func stop(_ command: Command, _ number: Int32 = SIGTERM) async throws -> Command.Result
    {
        command.signal(number)
        return try await DetachedThread.run { command.wait() }
    }

    @Test func dueFilesAndSignalsEndTheSleep() async throws {
        defer { end() }
        let path = try ground.write(manifest: manifest(["a"], refresh: "1s"))
        let watch = try watch([path, "--every", "1h", "--jitter", "0"])
        #expect(try await happens { text("Caches/a") == "one" })
        shelf.put("/a", Array("two".utf8))
        #expect(try await happens { text("Caches/a") == "two" })
        let result = try await stop(watch)
        #expect(result.ending == .exited(143), "\(result)")
        #expect(result.output.contains("Caches/a is due then."))
    }

    @Test func aReplacedManifestIsSyncedAtOnce() async throws {
        defer { end() }
        shelf.put("/b", Array("bee".utf8))
        let path = try ground.write(manifest: manifest(["a"]))
        let watch = try watch([path, "--every", "1h"])
        #expect(try await happens { text("Caches/a") == "one" })
        _ = try ground.write(manifest: "{", as: "manifest.json")
        _ = try ground.write(manifest: manifest(["a", "b"]), as: "new.json")
        #expect(rename(ground.folder.full("new.json"), path) == 0)
        #expect(try await happens { text("Caches/b") == "bee" })
        #expect(try await stop(watch, SIGINT).ending == .exited(130))
    }

    /// A manifest that is being written is none yet: each beginning of it, read alone, is an error.
    @Test func aManifestIsReadOnceItIsWritten() async throws {
        defer { end() }
        for name in (0..<20).map({ "b\($0)" }) {
            shelf.put("/" + name, Array("bee".utf8))
            let path = try ground.write(manifest: manifest(["a"]))
            let watch = try watch([path, "--every", "1h"])
            #expect(try await happens { watch.outputSoFar.contains("Next sync") })
            let bytes = Array(manifest(["a", name]).utf8)
            let wasPrompt = try await DetachedThread.run { try write(bytes, to: path) }
            #expect(try await happens { text("Caches/" + name) == "bee" })
            let result = try await stop(watch)
            #expect(result.ending == .exited(143), "\(result)")
            // A writer that was kept waiting by a busy machine may have looked done.
            if !wasPrompt { continue }
            #expect(!result.errors.contains("error:"), "\(result)")
            return
        }
        Issue.record("the machine was too busy to write a piece each 50 ms")
    }

    /// Writes a file in place, a piece each 50 ms as a script with `>>` does; false where one came too
    /// late.
    private func write(_ bytes: [UInt8], to path: String) throws -> Bool {
        let clock = ContinuousClock()
        let size = (bytes.count + 11) / 12
        var last = clock.now
        var wasPrompt = true
        for start in stride(from: 0, to: bytes.count, by: size) {
            Pause.milliseconds(50)
            let file = open(path, O_WRONLY | (start == 0 ? O_TRUNC : O_APPEND) | O_CLOEXEC)
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            let count = Glibc.write(file, piece, piece.count)
            close(file)
            if count != piece.count { throw StoryFailure("write(2) failed") }
            wasPrompt = wasPrompt && last.duration(to: clock.now) < .milliseconds(90)
            last = clock.now
        }
        return wasPrompt
    }

    @Test func aTemporarilyInvalidManifestEndsNoWatch() async throws {
        defer { end() }
        shelf.put("/b", Array("bee".utf8))
        let path = try ground.write(manifest: manifest(["a"]))
        let watch = try watch([path, "--every", "1h"])
        #expect(try await happens { text("Caches/a") == "one" })
        _ = try ground.write(manifest: "{")
        #expect(try await happens { watch.errorsSoFar.contains("error:") || watch.hasEnded })
        #expect(!watch.hasEnded)
        _ = try ground.write(manifest: manifest(["a", "b"]))
        #expect(try await happens { text("Caches/b") == "bee" || watch.hasEnded })
        #expect(text("Caches/b") == "bee")
        #expect(try await stop(watch).ending == .exited(143))
    }

    @Test func aManifestChangedAmidASyncIsSynced() async throws {
        defer { end() }
        let slow = ShelfOrigin(shelf, holdingAfter: 1)
        let other = try OriginServer(responder: slow)
        defer { other.stop() }
        shelf.put("/b", Array("bee".utf8))
        let path = try ground.write(
            manifest: manifest(["a"]).replacing(server.url, with: other.url))
        let watch = try watch([path, "--every", "1h"])
        #expect(try await happens { !slow.requests.isEmpty })
        _ = try ground.write(manifest: manifest(["b"]))
        slow.release()
        #expect(try await happens { text("Caches/b") == "bee" })
        #expect(text("Caches/a") == "one")
        #expect(try await stop(watch).ending == .exited(143))
    }

    /// As a manifest by URL that says for how long it is fresh is asked for again.
    @Test(arguments: [1, 3600])
    func dueTimesAndHangUpsRefetchTheManifest(seconds: Int) async throws {
        defer { end() }
        shelf.put("/b", Array("bee".utf8))
        let origin = FreshOrigin(seconds: seconds, manifest(["a"]))
        let far = try OriginServer(responder: origin)
        defer { far.stop() }
        let watch = try watch([far.url + "/m.json", "--every", "1h", "--jitter", "0"])
        #expect(try await happens { text("Caches/a") == "one" })
        origin.put(manifest(["a", "b"]))
        if seconds > 60 {
            #expect(try await happens { watch.outputSoFar.contains("Next sync") })
            watch.signal(SIGHUP)
        }
        #expect(try await happens { text("Caches/b") == "bee" })
        #expect(try await stop(watch).ending == .exited(143))
    }

    @Test func aServerThatComesLaterIsFound() async throws {
        defer { end() }
        let busy = BusyOrigin(ShelfOrigin(shelf))
        let late = try OriginServer(responder: busy)
        defer { late.stop() }
        let watch = try watch([late.url + "/m.json", "--every", "1s", "--retries", "0"])
        #expect(try await happens { busy.refusals > 1 })
        busy.open()
        shelf.put("/m.json", Array(manifest(["a"]).utf8))
        #expect(try await happens { text("Caches/a") == "one" })
        #expect(try await stop(watch).ending == .exited(143))
    }

    @Test func anotherRunGetsTheLockWhileItSleeps() async throws {
        defer { end() }
        let path = try ground.write(manifest: manifest(["a"]))
        let watch = try watch([path, "--every", "1h"])
        #expect(try await happens { text("Caches/a") == "one" })
        let ground = ground
        let result = try await DetachedThread.run {
            try ground.sync(path, ["--wait", "30s"]).wait()
        }
        #expect(result.ending == .exited(0), "\(result)")
        _ = try await stop(watch)
    }

    /// A watch of a manifest with `--only`, and a later one that names no manifest.
    @Test func aSelectionHoldsInLaterWatches() async throws {
        defer { end() }
        shelf.put("/b", Array("bee".utf8))
        let path = try ground.write(manifest: manifest(["a", "b"]))
        let first = try watch([path, "--only", "Caches/a", "--every", "1h"])
        #expect(try await happens { first.outputSoFar.contains("Next sync") })
        #expect(text("Caches/a") == "one")
        #expect(text("Caches/b") == nil)
        #expect(try await stop(first).ending == .exited(143))
        #expect(unlink(ground.root.full("Caches/a")) == 0)
        let second = try watch(["--every", "1h"])
        #expect(try await happens { second.outputSoFar.contains("Next sync") })
        #expect(text("Caches/a") == "one")
        #expect(text("Caches/b") == nil)
        // A manifest that is replaced keeps its selection too.
        shelf.put("/a", Array("two".utf8))
        shelf.put("/c", Array("sea".utf8))
        _ = try ground.write(manifest: manifest(["a", "b", "c"], refresh: "always"))
        #expect(try await happens { text("Caches/a") == "two" })
        let result = try await stop(second)
        #expect(result.ending == .exited(143), "\(result)")
        #expect(text("Caches/b") == nil)
        #expect(text("Caches/c") == nil)
        #expect(result.errors.contains("selection: Caches/a, 1 of 2"), "\(result)")
    }

    @Test func hangUpsSyncAgainAndNothingGrows() async throws {
        defer { end() }
        let path = try ground.write(manifest: manifest(["a"]))
        let log = ground.folder.full("log")
        let watch = try watch([path, "--every", "1h", "--log", log])
        @Sendable func syncs() -> Int {
            String(decoding: ground.folder.read("log") ?? [], as: UTF8.self)
                .split(separator: "\n").count { $0.contains("event=summary") }
        }
        // The fewest of several looks: between two syncs nothing but the sleep has some.
        @Sendable func descriptors() -> Int {
            (0..<40).map { _ in
                Pause.milliseconds(25)
                return Folder("/proc/\(watch.pid)/fd").entries().count
            }.min() ?? 0
        }
        func hangUp(untilSyncs count: Int) async throws {
            while syncs() < count {
                watch.signal(SIGHUP)
                Pause.milliseconds(50)
                if watch.hasEnded { return }
            }
        }
        #expect(try await happens { syncs() == 1 })
        try await hangUp(untilSyncs: 5)
        let open = descriptors()
        let memory = try memory(of: watch)
        try await hangUp(untilSyncs: 25)
        // The runtime makes a timer when one is first needed, which may be in any of the syncs: what
        // one of them leaves behind would be there twenty times.
        let left = descriptors()
        #expect(left < open + 10, "\(Folder("/proc/\(watch.pid)/fd").entries())")
        #expect(try self.memory(of: watch) < memory + (16 << 20) + Sanitizers.freedMemory)
        #expect(try await stop(watch).ending == .exited(143))
    }

    private func memory(of command: Command) throws -> Int {
        let status = String(
            decoding: try #require(Folder("/proc/\(command.pid)").read("status")), as: UTF8.self)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return (Int(line.split(separator: " ")[1]) ?? 0) << 10
    }

    @Test func theServiceManagerIsToldHowItGoes() async throws {
        defer { end() }
        let path = try ground.write(manifest: manifest(["a"]))
        let socket = try NotifySocket(at: ground.folder.full("notify"))
        let watch = try watch(
            [path, "--every", "1h"],
            ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "200000"])
        for prefix in ["READY=1", "STATUS=Syncing.", "STATUS=Next sync at ", "WATCHDOG=1"] {
            #expect(socket.hears { $0.hasPrefix(prefix) }, "\(prefix)")
        }
        watch.signal(SIGHUP)
        #expect(socket.hears { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") })
        #expect(
            try await happens { socket.messages.count { $0.hasPrefix("STATUS=Next sync at ") } > 1 }
        )
        // The queue of a socket that nobody reads is short, and the signs of life fill it while this
        // task waits for its turn.
        _ = socket.messages
        watch.signal(SIGTERM)
        #expect(socket.hears { $0 == "STOPPING=1" })
        _ = try await DetachedThread.run { watch.wait() }
    }

    @Test func aHangUpBeforeTheFirstSyncReloads() async throws {
        defer { end() }
        let path = try ground.write(manifest: manifest(["a"]))
        let socket = try NotifySocket(at: ground.folder.full("notify"))
        // A pipe that nobody reads holds the first sync up.
        let log = ground.folder.full("log")
        #expect(mkfifo(log, 0o600) == 0)
        let watch = try watch(
            [path, "--every", "1h", "--log", log], ["NOTIFY_SOCKET": socket.path])
        #expect(socket.hears { $0 == "READY=1" })
        watch.signal(SIGHUP)
        Pause.milliseconds(200)
        #expect(!watch.hasEnded)
        let reader = open(log, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(socket.hears { $0.hasPrefix("RELOADING=1") })
        #expect(text("Caches/a") == "one")
        #expect(try await stop(watch).ending == .exited(143))
    }

    @Test func settingsAreReadAgainAtAHangUp() async throws {
        defer { end() }
        let path = try ground.write(manifest: manifest(["a"]))
        try ground.root.write(".mirror/settings.json", Array(#"{ "budget": "0/day" }"#.utf8))
        let watch = try watch([path, "--every", "1h"])
        #expect(try await happens { ground.root.read(".mirror/index.sqlite") != nil })
        try ground.root.write(".mirror/settings.json", Array("{}".utf8))
        #expect(text("Caches/a") == nil)
        watch.signal(SIGHUP)
        #expect(try await happens { text("Caches/a") == "one" })
        _ = try await stop(watch)
    }

    @Test(arguments: [("{", 65), (nil, 66)])
    func anInvalidManifestEndsAStartingWatch(text: String?, exit: Int32) async throws {
        defer { end() }
        let path = ground.folder.full("manifest.json")
        if let text { _ = try ground.write(manifest: text) }
        let watch = try watch([path])
        let result = try await DetachedThread.run { watch.wait() }
        #expect(result.ending == .exited(exit), "\(result)")
    }

    @Test(.enabled(if: SmallFileSystem.isPossible))
    func aDiskThatWasFullIsFilledLater() async throws {
        defer { server.stop() }
        let disk = try SmallFileSystem(bytes: 4 << 20)
        shelf.put("/big", [UInt8](repeating: 7, count: 8 << 20))
        let path = try ground.write(manifest: manifest(["a", "big"]))
        let watch = try watch(
            [path, "--every", "1s", "--min-free", "0"], ["MIRROR_ROOT": disk.folder.path])
        #expect(try await happens { disk.folder.read("Caches/a") != nil })
        Pause.milliseconds(1500)
        #expect(!watch.hasEnded)
        try disk.resize(bytes: 64 << 20)
        #expect(try await happens { disk.folder.read("Caches/big")?.count == 8 << 20 })
        #expect(try await stop(watch).ending == .exited(143))
        ground.remove()
    }
}

/// A server of one text, which it calls fresh for so many seconds.
private final class FreshOrigin: Responder {
    private let seconds: Int
    private let text: Mutex<String>

    init(seconds: Int, _ text: String) {
        self.seconds = seconds
        self.text = Mutex(text)
    }

    func put(_ text: String) { self.text.withLock { $0 = text } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let text = text.withLock { $0 }
        let head = """
            HTTP/1.1 200 OK\r
            Cache-Control: max-age=\(seconds)\r
            Content-Length: \(text.utf8.count)\r
            \r

            """
        return connection.send(Array((head + text).utf8))
    }
}

/// A server that is busy until it is opened.
private final class BusyOrigin: Responder {
    private let origin: ShelfOrigin
    private let state = Mutex((isOpen: false, refusals: 0))

    init(_ origin: ShelfOrigin) { self.origin = origin }

    /// How many requests it has refused.
    var refusals: Int { state.withLock { $0.refusals } }

    func open() { state.withLock { $0.isOpen = true } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.refusals += 1 }
            return state.isOpen
        }
        if isOpen { return origin.respond(to: request, on: connection) }
        let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
        return connection.send(Array(head.utf8))
    }
}
