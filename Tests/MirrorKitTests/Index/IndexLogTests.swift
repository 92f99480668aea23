import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorStore
@testable import MirrorModel

@Suite struct IndexLogTests {
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
        try index.close(now: Instant(seconds: 0))
        #expect(try databaseSize() > carried)
    }
}
