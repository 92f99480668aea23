import MirrorModel
import MirrorTestSupport
import Testing

@testable import MirrorKit
@testable import MirrorStore
@testable import MirrorSystem

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
        let index = try IndexOpening.open(root, now: start).index
        let large = EvictedFile(
            target: try Target("Caches/z"), size: 1 << 40, lastUse: Instant(milliseconds: 5))
        let unknown = EvictedFile(
            target: try Target("Caches/a"), size: nil, lastUse: Instant(milliseconds: 6))
        try index.changes.note(evicted: [large, unknown], readmitted: [])
        #expect(try index.evictedFiles() == [unknown, large])
        try index.changes.note(evicted: [], readmitted: [large.target, try Target("Caches/none")])
        #expect(try index.evictedFiles() == [unknown])
        try index.close()
        let again = try IndexOpening.open(root, now: start).index
        #expect(try again.evictedFiles() == [unknown])
    }

    @Test func formerSchemaWithoutThemIsReadAndMigrated() throws {
        let index = try IndexOpening.open(root, now: start).index
        try index.write { (batch: inout Database) throws(IndexError) in
            try FormerRecords.make(in: &batch)
            try batch.run(
                """
                DROP TABLE batches; DROP TABLE evicted; DROP TABLE sets; DROP TABLE set_removals;
                PRAGMA user_version = 3
                """)
        }
        try index.close()
        let reader = try IndexOpening.openForReading(root)
        #expect(try reader.evictedFiles() == [])
        try reader.close()
        let opened = try IndexOpening.open(root, now: start)
        #expect(opened.notice == nil)
        let file = EvictedFile(
            target: try Target("Caches/a"), size: 3, lastUse: Instant(milliseconds: 6))
        try opened.index.changes.note(evicted: [file], readmitted: [])
        #expect(try opened.index.evictedFiles() == [file])
    }
}
