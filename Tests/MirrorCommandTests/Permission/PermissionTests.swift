import Glibc
import MirrorTestSupport
import Testing

/// When the built program fetches, and when it does not.
@Suite(.timeLimit(.minutes(5))) struct PermissionTests {
    private let ground: Playground
    private let manifest: String

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        try ground.folder.write("a.txt", Array("hello".utf8))
        manifest = try ground.write(
            manifest: """
                { "name": "m", "resources": [
                  { "path": "Caches/a", "url": "file://\(ground.folder.full("a.txt"))" }
                ] }
                """)
    }

    private func sync(_ words: [String], _ environment: [String: String]) async throws
        -> Command.Result
    {
        let (ground, manifest) = (ground, manifest)
        return try await DetachedThread.run {
            try ground.sync(manifest, words, adding: environment).wait()
        }
    }

    /// A window that begins and ends so many hours from now, in UTC.
    private func window(from start: Int, to end: Int) -> String {
        let hour = time(nil) / 3600
        return [start, end].map { hours in
            let hour = (hour + hours) % 24
            return (hour < 10 ? "0" : "") + "\(hour):00"
        }.joined(separator: "-")
    }

    @Test func outsideItsWindowARunDefers() async throws {
        defer { ground.remove() }
        let closed = try await sync(["--window", window(from: 2, to: 4)], ["TZ": "UTC"])
        #expect(closed.ending == .exited(0), "\(closed)")
        #expect(closed.summary("deferred") == "1")
        let open = try await sync(["--window", window(from: -1, to: 2)], ["TZ": "UTC"])
        #expect(open.summary("fetched") == "1", "\(open)")
    }

    @Test func theWindowIsOneOfLocalTime() async throws {
        defer { ground.remove() }
        // A zone that is twelve hours ahead; its names have the sign the other way round.
        let open = window(from: 11, to: 14)
        let there = try await sync(["--window", open], ["TZ": "Far-12"])
        #expect(there.summary("fetched") == "1", "\(there)")
        let here = try await sync(["--window", open], ["TZ": "UTC"])
        #expect(here.summary("deferred") == "1", "\(here)")
    }

    @Test(arguments: [
        (1, "deferred"), (2, "fetched"), (3, "deferred"), (4, "fetched"), (0, "fetched"),
    ])
    func networkIsMeteredAsNetworkManagerSays(value: Int, outcome: String) async throws {
        defer { ground.remove() }
        let bus = try FakeNetworkManager(metered: value, in: ground.folder)
        defer { bus.stop() }
        let result = try await sync(
            ["--unless-metered"], ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        #expect(result.ending == .exited(0), "\(result)")
        #expect(result.summary(outcome) == "1", "\(result)")
        #expect(!result.errors.contains("counts as not metered"))
    }

    @Test func withoutNetworkManagerNothingIsMetered() async throws {
        defer { ground.remove() }
        let result = try await sync(
            ["--unless-metered"],
            ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(ground.folder.full("no-bus"))"])
        #expect(result.summary("fetched") == "1", "\(result)")
        let notes = result.errors.split(separator: "\n").filter {
            $0.contains("The network counts as not metered")
        }
        #expect(notes.count == 1, "\(result)")
    }

    @Test func aHangingSystemBusDelaysNoRun() async throws {
        defer { ground.remove() }
        let bus = try FakeNetworkManager(metered: 1, in: ground.folder)
        defer { bus.stop() }
        bus.standStill()
        let result = try await sync(
            ["--unless-metered", "--deadline", "20s"], ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        #expect(result.ending == .exited(0), "\(result)")
        #expect(result.summary("fetched") == "1", "\(result)")
        #expect(result.errors.contains("NetworkManager does not answer"), "\(result)")
    }

    @Test func budgetsCountAllBytesOfShortRuns() async throws {
        let shelf = MemoryShelf()
        let names = ["1", "2", "3", "4"]
        for name in names { shelf.put("/" + name, [UInt8](repeating: 7, count: 1000)) }
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer {
            server.stop()
            ground.remove()
        }
        let resources = names.map { #"{"path":"Caches/\#($0)","url":"\#(server.url)/\#($0)"}"# }
        let path = try ground.write(
            manifest: #"{"name":"n","resources":[\#(resources.joined(separator: ","))]}"#)
        let ground = ground
        let (sync, plan) = try await DetachedThread.run {
            let budget = ["--budget", "1MB/month"]
            return (
                try ground.sync(path, budget + ["--jobs", "1"]).wait(),
                try ground.start(["plan", path, "--json"] + budget).wait()
            )
        }
        #expect(sync.summary("bytesReceived") == "4000", "\(sync)")
        #expect(plan.output.contains("\"budgetLeft\":996000,"), "\(plan)")
    }
}
