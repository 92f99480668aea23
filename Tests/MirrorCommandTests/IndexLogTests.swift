import MirrorTestSupport
import Testing

/// What a run that begins waits for before it writes to the index's log.
@Suite(.timeLimit(.minutes(15)), .enabled(if: Strace.isPossible, "strace is not possible here"))
struct IndexLogTests {
    /// Frames of an earlier log, read behind an old header after a crash of the machine, would be taken for
    /// the newest ones (https://sqlite.org/src/info/ff5be73dee). A file without any need not wait.
    @Test(arguments: [false, true])
    func aHeaderIsFlushedBeforeFramesWhereThereMayBeOlderOnes(hasOlder: Bool) throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        try ground.folder.write("world.map", Array("a map".utf8))
        let source = ground.folder.full("world.map")
        let resources = ["a", "b"].map {
            "{\"path\":\"Documents/\($0)\",\"url\":\"file://\(source)\"}"
        }
        let manifest = try ground.write(
            manifest: "{\"name\":\"m\",\"resources\":[\(resources[0])]}")
        #expect(try ground.start("sync", manifest).wait().ending == .exited(0))

        if hasOlder {
            // No header that counts, as after a crash amid its writing.
            try ground.root.write(".mirror/index.sqlite-wal", Array(repeating: 0, count: 8272))
        }
        _ = try ground.write(
            manifest: "{\"name\":\"m\",\"resources\":[\(resources.joined(separator: ","))]}")
        let trace = ground.folder.full("trace")
        let tool = [
            Strace.program, "-f", "-y", "-qq", "-o", trace, "-e", "trace=pwrite64,fdatasync",
        ]
        let result = try ground.start(["sync", manifest], under: tool).wait()
        #expect(result.ending == .exited(0), "\(result.errors)")

        let lines = String(decoding: ground.folder.read("trace") ?? [], as: UTF8.self)
            .split(separator: "\n").filter { $0.contains("/index.sqlite-wal>") }
        let header = try #require(lines.firstIndex { $0.contains(", 32, 0)") })
        let frame = try #require(lines.firstIndex { $0.contains(", 4096, 56)") })
        let between = lines[header..<frame]
        let mustWait = hasOlder || !GroupFlush.isUsed
        #expect(between.contains { $0.contains("fdatasync(") } == mustWait, "\(between)")
        #expect(
            lines[frame...].contains { $0.contains("fdatasync(") }, "the log is never flushed")
    }

    /// What such a run writes is asked for again where a power cut takes it. What it finds in the log of a killed
    /// run is not.
    @Test func aRunInWhichEverythingIsConfirmedAgainFlushesTheLogOnceAtItsEnd() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        let entries = (0..<3).map {
            stage.entry("Caches/\($0)", TestBytes.make(500, seed: UInt64($0)), url: "\($0)")
        }
        let manifest = try stage.ground.write(
            manifest: "{\"name\":\"t\",\"resources\":[\(entries.joined(separator: ","))]}")
        let flushes = try await DetachedThread.run {
            let ground = stage.ground
            return try (0..<3).map { number in
                if number == 2 {
                    try ground.root.write(
                        ".mirror/index.sqlite-wal", Array(repeating: 0, count: 8272))
                }
                let trace = ground.folder.full("trace")
                let tool = [
                    Strace.program, "-f", "-y", "-qq", "-o", trace, "-e", "trace=fdatasync",
                ]
                let result = try ground.start(["sync", manifest, "--refresh"], under: tool).wait()
                #expect(result.ending == .exited(0), "\(result.errors)")
                return String(decoding: ground.folder.read("trace") ?? [], as: UTF8.self)
                    .split(separator: "\n").filter { $0.contains("/index.sqlite-wal>") }.count
            }
        }
        #expect(flushes[0] > 1, "new files are reported before their rows are on the disk")
        #expect(flushes[1] == 1)
        // One is of the header, and one at the end.
        #expect(flushes[2] > 2, "what others rely on may not be on the disk")
    }
}
