import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorStore
@testable import MirrorModel

@Suite struct IndexLogTests {
    /// Where a reader keeps the log from beginning anew, writers are not held back at every step.
    @Test func writersAreHeldBackOnceForEachStepOfTheLog() {
        let log = WriteAheadLog(of: nil, isWriter: false)
        // At 2,100 it began anew.
        let pages = [16_383, 16_384, 16_400, 32_767, 32_768, 2_100, 16_384]
        let held = pages.map { log.isOverdue($0) }
        #expect(held == [false, true, false, false, true, false, true])
    }

    /// The log's file stays as long as it was, so its length must not be taken for what it holds.
    @Test func checkpointedLogIsNotCheckpointedAgainAtOnce() throws {
        let folder = try TemporaryFolder()
        let index = try IndexOpening.open(
            try RootDirectory(opening: folder.path), now: Instant(seconds: 0)
        )
        .index
        func pages() throws -> Int {
            try index.read { (database: inout Database) throws(IndexError) in database.pagesInLog }
        }
        func put(_ numbers: Range<Int>) throws {
            let records = try numbers.map {
                try fullRecord("Documents/\(String(repeating: "n", count: 200))/\($0)")
            }
            try index.write { (batch: inout Database) throws(IndexError) in
                for record in records { try FileRows.put(record, in: &batch) }
            }
        }
        func databaseSize() throws -> Int { folder.bytes(of: ".mirror/index.sqlite")?.count ?? 0 }

        var count = 0
        while try pages() < 2048 {
            try index.checkpointIfNeeded()
            // Too little was logged for that.
            #expect(try databaseSize() < 1 << 20)
            try put(count..<count + 1000)
            count += 1000
            try #require(count < 50_000)
        }
        try index.checkpointIfNeeded()
        let carried = try databaseSize()
        #expect(carried > 4 << 20)
        try put(count..<count + 1000)
        #expect(try pages() < 1000)
        #expect(try #require(folder.bytes(of: ".mirror/index.sqlite-wal")).count > 8 << 20)
        try index.checkpointIfNeeded()
        #expect(try databaseSize() == carried)
        try index.close()
        #expect(try databaseSize() > carried)
    }
}
