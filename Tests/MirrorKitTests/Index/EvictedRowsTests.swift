@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Rows of files that were left out for room.
@Suite struct EvictedRowsTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory
    private let start = Instant(seconds: 1000)

    init() throws {
        folder = try TemporaryFolder()
        root = try RootDirectory(opening: folder.path)
    }

    @Test func evictedFilesAreRememberedUntilTheyAreReadmitted() throws {
        let index = try Index.open(root, now: start)
        let large = EvictedFile(
            target: try Target("Caches/z"), size: 1 << 40, lastUse: Instant(milliseconds: 5))
        let unknown = EvictedFile(
            target: try Target("Caches/a"), size: nil, lastUse: Instant(milliseconds: 6))
        try index.note(evicted: [large, unknown], readmitted: [])
        #expect(try index.evictedFiles() == [unknown, large])
        try index.note(evicted: [], readmitted: [large.target, try Target("Caches/none")])
        #expect(try index.evictedFiles() == [unknown])
        try index.close()
        let again = try Index.open(root, now: start)
        #expect(try again.evictedFiles() == [unknown])
    }
}
