import MirrorTestSupport
import Testing

/// How often a run waits for the index's log to reach the disk.
@Suite(.timeLimit(.minutes(15)), .enabled(if: Strace.isPossible, "strace is not possible here"))
struct IndexLogTests {
    /// What such a run writes is asked for again where a power cut takes it.
    @Test func confirmingEverythingAgainWaitsForNoRows() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        let entries = (0..<3).map {
            stage.entry("Caches/\($0)", TestBytes.make(500, seed: UInt64($0)), url: "\($0)")
        }
        let manifest = try stage.ground.write(
            manifest: "{\"name\":\"t\",\"resources\":[\(entries.joined(separator: ","))]}")
        let flushes = try await DetachedThread.run {
            let ground = stage.ground
            return try (0..<2).map { _ in
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
        // Its header, and once at the end.
        #expect(flushes[1] == 2)
        #expect(flushes[0] > 3, "new files are reported before their rows are on the disk")
    }
}
