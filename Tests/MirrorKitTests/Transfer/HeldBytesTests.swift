import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// What a part is known to hold, as its pipeline finds by reading back: a digest goes no further.
@Suite(.timeLimit(.minutes(15))) struct HeldBytesTests {
    private let folder: TemporaryFolder
    private let workers: WorkPool
    private let chunks = ChunkPool(capacity: 64 << 10, kept: 4)

    init() throws {
        folder = try TemporaryFolder()
        workers = WorkPool(name: "test", threads: 2)
    }

    /// A writer from a position on, all of whose bytes have gone through its pipeline.
    private func written(_ path: String, from start: Int64, losses: Box<Int>) async -> PartWriter {
        let file = PartFile(name: "x.part", descriptor: open(path, O_RDWR | O_CREAT, 0o600))
        let pipeline = WritePipeline(
            other: nil, workers: workers, chunks: chunks, afterBytes: { _ in },
            onLoss: { _ in losses.value.withLock { $0 += 1 } })
        let writer = PartWriter(
            file: file, start: start, total: nil, pipeline: pipeline, chunks: chunks)
        TestBytes.make(200_000, seed: 1).withUnsafeBytes { writer.append($0, now: 0) }
        writer.flush()
        await withCheckedContinuation { done in pipeline.submit { _ in done.resume() } }
        return writer
    }

    @Test func bytesThatWereReadBackAreHeld() async {
        let losses = Box(0)
        let writer = await written(folder.path + "/x", from: 1000, losses: losses)
        #expect(writer.isHeld)
        #expect(writer.heldEnd == 201_000)
        #expect(losses.value.withLock { $0 } == 0)
        workers.stop()
    }

    @Test func theFrontStaysBeforeBytesNotReallyWritten() async {
        let losses = Box(0)
        let writer = await written("/dev/null", from: 1000, losses: losses)
        #expect(!writer.isHeld)
        #expect(writer.heldEnd == 1000)
        #expect(losses.value.withLock { $0 } == 1)
        #expect(PartWriter.heldFront(of: [], upTo: 2_000_000) == 2_000_000)
        #expect(PartWriter.heldFront(of: [writer], upTo: 2_000_000) == 1000)
        workers.stop()
    }
}
