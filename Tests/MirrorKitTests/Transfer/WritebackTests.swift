import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// What stays in memory of a part that goes to the disk, as mincore(2) sees it.
///
/// The kernel may keep a page that it was told to let go, and take one that nobody spoke of: the bounds
/// leave room for some of both.
@Suite(.timeLimit(.minutes(15))) struct WritebackTests {
    private let folder: TemporaryFolder
    private let workers: WorkPool
    private let chunks = ChunkPool(capacity: 64 << 10, kept: 4)
    private let length = 48 << 20

    init() throws {
        folder = try TemporaryFolder()
        workers = WorkPool(name: "test", threads: 2)
    }

    /// A tmpfs is memory, which cannot be let go.
    private static let isMemory: Bool = {
        let descriptor = open("/tmp", O_RDONLY)
        return FileSystemKind(of: Descriptor(owning: descriptor)).magic == 0x0102_1994
    }()

    private func openPart() -> PartFile {
        PartFile(name: "x.part", descriptor: open(folder.path + "/x", O_RDWR | O_CREAT, 0o600))
    }

    /// Writes bytes through a pipeline, the last 8 MiB when the others are on the disk, and gives what they are.
    private func write(_ bytes: [UInt8], lettingGo: Bool) async -> Milestone {
        let pipeline = WritePipeline(
            other: nil, releasesPages: lettingGo, workers: workers, chunks: chunks,
            afterBytes: { _ in }, onLoss: { Issue.record("\($0)") })
        let writer = PartWriter(
            file: openPart(), start: 0, total: Int64(length), pipeline: pipeline, chunks: chunks)
        for piece in [bytes.dropLast(8 << 20), bytes.suffix(8 << 20)] {
            piece.withUnsafeBytes { writer.append($0, now: 0) }
            writer.flush()
            await withCheckedContinuation { done in pipeline.submit { _ in done.resume() } }
            flush()
        }
        defer { workers.stop() }
        return await withCheckedContinuation { done in
            pipeline.submit { done.resume(returning: $0.milestone) }
        }
    }

    /// Has the disk take what was written, as a disk that keeps up does.
    private func flush() {
        let descriptor = open(folder.path + "/x", O_RDONLY)
        defer { close(descriptor) }
        #expect(fsync(descriptor) == 0)
    }

    /// How much of the first bytes of the file is in memory, in bytes.
    private func resident(ofFirst count: Int) throws -> Int {
        let descriptor = open(folder.path + "/x", O_RDONLY)
        defer { close(descriptor) }
        let map = try #require(mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0))
        defer { munmap(map, count) }
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        var pages = [UInt8](repeating: 0, count: count / page)
        try #require(mincore(map, count, &pages) == 0)
        return pages.count { $0 & 1 == 1 } * page
    }

    @Test(.disabled(if: isMemory, "/tmp is memory itself"))
    func largeFilesLeaveThePageCache() async throws {
        let bytes = TestBytes.make(length, seed: 7)
        let milestone = await write(bytes, lettingGo: true)
        #expect(try resident(ofFirst: 16 << 20) < 12 << 20)
        #expect(milestone.length == Int64(length))
        #expect(milestone.sha256.hex == Checksum.sha256(bytes))
        #expect(folder.bytes(of: "x") == bytes)
    }

    @Test func ordinaryFilesStayInThePageCache() async throws {
        _ = await write(TestBytes.make(length, seed: 7), lettingGo: false)
        #expect(try resident(ofFirst: 16 << 20) > 4 << 20)
    }

    @Test(.disabled(if: isMemory, "/tmp is memory itself"))
    func foreignBytesLeaveThePageCacheWhenHashed() async throws {
        let bytes = TestBytes.make(length, seed: 7)
        try folder.write(bytes, to: "x")
        flush()
        let pipeline = WritePipeline(
            other: nil, releasesPages: true, workers: workers, chunks: chunks,
            afterBytes: { _ in }, onLoss: { Issue.record("\($0)") })
        pipeline.append(openPart(), upTo: 40 << 20)
        let milestone = await withCheckedContinuation { done in
            pipeline.submit { done.resume(returning: $0.milestone) }
        }
        #expect(milestone.sha256.hex == Checksum.sha256(Array(bytes.prefix(40 << 20))))
        #expect(try resident(ofFirst: 16 << 20) < 12 << 20)
        #expect(try resident(ofFirst: 48 << 20) > 4 << 20)
        workers.stop()
    }
}
