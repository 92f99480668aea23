import Glibc
import MirrorTestSupport
import Testing

/// A disk of one mebibyte: what does not fit is refused, and what was there is whole.
@Suite(
    .enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"),
    .timeLimit(.minutes(15)))
struct FullDiskTests {
    /// What a run of two resources does after `small` has been fetched.
    private func outcome(
        declaring size: String = "", body: String, _ options: [String]
    ) async throws -> (result: Command.Result, requests: Int, parts: Int) {
        try await DetachedThread.run {
            let disk = try SmallFileSystem(bytes: 1 << 20)
            let scenario = try ScenarioServer(
                """
                A small file, then one that is too large
                bytes small = 20000 seed=1
                bytes big = 4000000 seed=2
                phase one
                  on GET /small
                    reply
                      HTTP/1.1 200 OK
                      @body small
                  on always GET /big
                    reply
                      HTTP/1.1 200 OK
                      ETag: "b"
                \(body)
                  sync
                """)
            defer { scenario.server.stop() }
            let ground = try Playground(
                program: BuiltProgram.path(of: "mirror"), root: disk.folder.path)
            defer { ground.remove() }
            let url = scenario.server.url
            let small = "{\"path\":\"Caches/small\",\"url\":\"\(url)/small\",\"refresh\":\"never\"}"
            let first = try ground.write(manifest: "{\"name\":\"d\",\"resources\":[\(small)]}")
            let before = try ground.sync(first, ["--min-free", "0"]).wait()
            #expect(before.ending == .exited(0), "\(before)")

            let second = try ground.write(
                manifest: "{\"name\":\"d\",\"resources\":[\(small),"
                    + "{\"path\":\"Documents/big\",\"url\":\"\(url)/big\"\(size)}]}")
            let result = try ground.sync(second, options).wait()
            #expect(
                ground.tree() == ["Caches/small": TestBytes.make(20_000, seed: 1)],
                "\(ground.tree().mapValues(\.count)) \(result)")
            return (result, scenario.script.requests.count, ground.parts().count)
        }
    }

    /// A large file, a middle one and a small one on a disk that has room for the last two.
    @Test(arguments: [false, true]) func whatFitsIsFetched(isDeclared: Bool) async throws {
        try await DetachedThread.run {
            let disk = try SmallFileSystem(bytes: 4 << 20)
            let sizes = ["big": 5_000_000, "middle": 700_000, "small": 55]
            let shelf = MemoryShelf()
            for (name, size) in sizes { shelf.put("/\(name)", TestBytes.make(size, seed: 1)) }
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            let ground = try Playground(
                program: BuiltProgram.path(of: "mirror"), root: disk.folder.path)
            defer { ground.remove() }
            let entries = ["big", "middle", "small"].map { name in
                let size = isDeclared ? ",\"size\":\(sizes[name] ?? 0)" : ""
                return
                    "{\"path\":\"Documents/\(name)\",\"url\":\"\(server.url)/\(name)\",\"refresh\":\"never\"\(size)}"
            }
            let manifest = try ground.write(
                manifest: "{\"name\":\"d\",\"resources\":[\(entries.joined(separator: ","))]}")
            let room = ["--min-free", "0"]
            let first = try ground.sync(manifest, room).wait()
            #expect(first.ending == .exited(77), "\(first)")
            #expect(Set(ground.tree().keys) == ["Documents/middle", "Documents/small"])
            #expect(ground.parts() == [])
            let plan = try ground.start(["plan", manifest] + room).wait()
            #expect(plan.output.contains("no room       Documents/big"), "\(plan)")
            #expect(plan.output.contains("no room for 4.8 MiB: \(disk.folder.path) has"), "\(plan)")
            #expect(!plan.output.contains("stay free"), "\(plan)")
            let why = try ground.start(["why", "Documents/big"] + room).wait()
            #expect(
                why.output.contains("fetch, no room\n    because: no room for 4.8 MiB"), "\(why)")
            #expect(
                why.output.contains(
                    "now: no room, because: no room for 4.8 MiB: \(disk.folder.path) has"), "\(why)"
            )
            let status = try ground.start(["status"]).wait()
            #expect(status.output.contains("1 without room on the disk"), "\(status)")
            let again = try ground.start(["sync", manifest] + room).wait()
            #expect(again.ending == .exited(77), "\(again)")
            #expect(again.output.contains("1 no room"), "\(again)")
            #expect(again.output.contains("0 requests"), "\(again)")
            #expect(again.errors.contains("Make room on the disk."), "\(again)")
            try disk.resize(bytes: 16 << 20)
            let roomy = try ground.sync(manifest, room).wait()
            #expect(roomy.ending == .exited(0), "\(roomy)")
            #expect(ground.tree()["Documents/big"]?.count == 5_000_000)
            let known = try ground.start(["plan", manifest, "--json"]).wait()
            #expect(known.output.contains("\"noRoom\":0"), "\(known)")
        }
    }

    /// Each of them would fit alone.
    @Test func bodiesUnderWayCountAsUsed() async throws {
        try await DetachedThread.run {
            let disk = try SmallFileSystem(bytes: 8 << 20)
            let shelf = MemoryShelf()
            for name in ["a", "b"] { shelf.put("/\(name)", TestBytes.make(5_000_000, seed: 1)) }
            let origin = ShelfOrigin(shelf, bytesPerSecond: 4_000_000)
            let server = try OriginServer(responder: origin)
            defer { server.stop() }
            let ground = try Playground(
                program: BuiltProgram.path(of: "mirror"), root: disk.folder.path)
            defer { ground.remove() }
            let entries = ["a", "b"].map {
                "{\"path\":\"Caches/\($0)\",\"url\":\"\(server.url)/\($0)\"}"
            }
            let manifest = try ground.write(
                manifest: "{\"name\":\"d\",\"resources\":[\(entries.joined(separator: ","))]}")
            let result = try ground.start(["sync", manifest, "--min-free", "0", "--segments", "1"])
                .wait()
            #expect(result.ending == .exited(77), "\(result)")
            #expect(result.output.contains("1 fetched, 1 no room"), "\(result)")
            #expect(ground.tree().count == 1)
        }
    }

    /// A run that was killed left a log of the index, whose shared memory needs room to be read.
    @Test func statusWorksOnAFullDisk() async throws {
        try await DetachedThread.run {
            let disk = try SmallFileSystem(bytes: 2 << 20)
            let scenario = try ScenarioServer(
                """
                A small file, then one that never comes whole
                bytes small = 20000 seed=1
                bytes big = 200000 seed=2
                phase one
                  on GET /small
                    reply
                      HTTP/1.1 200 OK
                      @body small
                  on GET /big
                    reply
                      HTTP/1.1 200 OK
                      ETag: "b"
                      @body big cut 150000
                      @hold
                  sync
                """)
            defer { scenario.server.stop() }
            let ground = try Playground(
                program: BuiltProgram.path(of: "mirror"), root: disk.folder.path)
            defer { ground.remove() }
            let entries = ["small", "big"].map {
                #"{"path":"Caches/\#($0)","url":"\#(scenario.server.url)/\#($0)","refresh":"never"}"#
            }
            let first = try ground.write(
                manifest: "{\"name\":\"d\",\"resources\":[\(entries[0])]}")
            #expect(try ground.sync(first, ["--min-free", "0"]).wait().ending == .exited(0))
            let other = try ground.write(
                manifest: "{\"name\":\"e\",\"resources\":[\(entries[1])]}", as: "other.json")
            let killed = try ground.sync(other, ["--min-free", "0"])
            for _ in 0..<1200 where ground.parts().isEmpty { Pause.milliseconds(50) }
            killed.signal(SIGKILL)
            _ = killed.wait()
            #expect(disk.folder.read(".mirror/index.sqlite-wal")?.isEmpty == false)
            #expect(unlink(disk.folder.full(".mirror/index.sqlite-shm")) == 0)
            let fill = open(disk.folder.full("fill"), O_WRONLY | O_CREAT, 0o600)
            let block = [UInt8](repeating: 0, count: 4096)
            while write(fill, block, block.count) > 0 {}
            close(fill)
            for words in [
                ["status"], ["verify", first], ["get", "Caches/small", "--min-free", "0"],
            ] {
                let result = try ground.start(words).wait()
                #expect(result.ending == .exited(0), "\(words) \(result)")
            }
        }
    }

    @Test func tooLargeDeclaredSizeIsRefusedBeforeRequests() async throws {
        let outcome = try await outcome(
            declaring: ",\"size\":4000000", body: "      @body big",
            ["--min-free", "0"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.requests == 1)
    }

    @Test func tooLargeContentLengthIsRefusedEarly() async throws {
        let outcome = try await outcome(
            body: "      @body big", ["--min-free", "0", "--retries", "0"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.requests == 2)
    }

    @Test func bodyThatWouldPassMinFreeIsRefused() async throws {
        let outcome = try await outcome(
            declaring: ",\"size\":10000", body: "      @body big[0-9999]",
            ["--min-free", "64MiB"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.requests == 1)
    }

    @Test func aBodyOfUnknownSizeThatOutgrowsTheDiskIsRefused() async throws {
        let outcome = try await outcome(
            body: """
                      Transfer-Encoding: chunked
                      @chunked big
                      @text "0\\r\\n\\r\\n"
                """,
            ["--min-free", "0", "--retries", "0"])
        #expect(outcome.result.ending == .exited(77), "\(outcome.result)")
        #expect(outcome.parts == 0)
        #expect(outcome.requests == 2)
    }

    /// What does not fit says nothing about what was read.
    @Test(arguments: [false, true]) func aFullDiskMovesOnlyDamagedIndexes(
        isDamaged: Bool
    ) async throws {
        try await DetachedThread.run {
            let disk = try SmallFileSystem(bytes: 1 << 20)
            let ground = try Playground(
                program: BuiltProgram.path(of: "mirror"), root: disk.folder.path)
            defer { ground.remove() }
            let resources = try ["a", "b"].map { name in
                try ground.folder.write(name, Array(name.utf8))
                return
                    "{\"path\":\"Caches/\(name)\",\"url\":\"file://\(ground.folder.full(name))\"}"
            }
            func sync(_ count: Int) throws -> Command.Result {
                let list = resources.prefix(count).joined(separator: ",")
                let manifest = try ground.write(
                    manifest: "{\"name\":\"d\",\"resources\":[\(list)]}")
                return try ground.sync(manifest, ["--min-free", "0"]).wait()
            }
            let name = ".mirror/index.sqlite"
            #expect(try sync(1).ending == .exited(0))
            var index = try #require(disk.folder.read(name))
            if isDamaged {
                index.replaceSubrange(0..<16, with: repeatElement(0, count: 16))
                try disk.folder.write(name, index, mode: "r+e")
            }
            let fill = try Command.run(
                "/bin/sh", ["-c", "cat /dev/zero > '\(disk.folder.full("fill"))'"])
            #expect(fill.ending == .exited(1))
            let full = try sync(2)
            #expect(full.ending == .exited(74), "\(full)")
            #expect(full.errors.contains("the disk is full"), "\(full)")
            let aside = disk.folder.names(in: ".mirror").filter {
                $0.hasPrefix("index.sqlite.damaged-")
            }
            #expect(aside.count == (isDamaged ? 1 : 0))
            for name in aside {
                #expect(disk.folder.read(".mirror/\(name)") == index)
                #expect(full.errors.contains("is kept as .mirror/\(name)"), "\(full)")
            }
            if !isDamaged { #expect(disk.folder.read(name) == index) }
            #expect(unlink(disk.folder.full("fill")) == 0)
            let roomy = try sync(2)
            #expect(roomy.ending == .exited(0), "\(roomy)")
            #expect(ground.tree() == ["Caches/a": Array("a".utf8), "Caches/b": Array("b".utf8)])
        }
    }
}
