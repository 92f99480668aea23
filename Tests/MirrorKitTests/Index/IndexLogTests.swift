import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct IndexLogTests: IndexSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The log's file stays as long as it was, so its length must not be taken for what it holds.
    @Test func aLongLogIsCarriedIntoTheDatabaseOnce() throws {
        let index = try open()
        func pages() throws -> Int {
            try index.read { (database: inout Database) throws(IndexError) in database.pagesInLog }
        }
        func put(_ numbers: Range<Int>) throws {
            try index.put(
                try numbers.map {
                    try fullRecord("Documents/\(String(repeating: "n", count: 200))/\($0)")
                })
        }
        func databaseSize() -> Int { folder.bytes(of: ".mirror/index.sqlite")?.count ?? 0 }

        var count = 0
        while databaseSize() < 1 << 20 {
            try put(count..<count + 1000)
            count += 1000
            try #require(count < 50_000)
        }
        let carried = databaseSize()
        #expect(carried > 4 << 20)
        try put(count..<count + 1000)
        #expect(try pages() < 1000)
        #expect(try #require(folder.bytes(of: ".mirror/index.sqlite-wal")).count > 8 << 20)
        #expect(databaseSize() == carried)
        try index.close()
        #expect(databaseSize() > carried)
    }

    /// A run reads rows on the thread of transfers, which must not wait for a slow commit.
    @Test func rowsAreReadWhileAnotherThreadWrites() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.put([record])
        let (isWriting, mayEnd, hasRead) = (Semaphore(), Semaphore(), Semaphore())
        let writer = try NativeThread("writer") {
            try? index.write { (_: inout Database) throws(IndexError) in
                isWriting.post()
                mayEnd.wait()
            }
        }
        isWriting.wait()
        let reader = try NativeThread("reader") {
            if (try? index.records(for: [record.target])) == [record] { hasRead.post() }
        }
        #expect(hasRead.wait(seconds: 20))
        mayEnd.post()
        reader.join()
        writer.join()
        try index.close()
        #expect(folder.bytes(of: ".mirror/index.sqlite-wal") == nil)
    }

    /// The commit before a checkpoint stands, so a set whose journal it holds must not be undone.
    @Test func aFailedCheckpointFailsNoCommit() throws {
        let index = try open()
        // The checkpoint has a connection of its own, which finds no file under the name.
        let name = folder.path + "/.mirror/index.sqlite"
        #expect(rename(name, name + ".away") == 0)
        var count = 0
        while count < 20_000 {
            try index.put(
                try (count..<count + 1000).map {
                    try fullRecord("Documents/\(String(repeating: "n", count: 200))/\($0)")
                })
            count += 1000
        }
        let pages = try index.read { (database: inout Database) throws(IndexError) in
            database.pagesInLog
        }
        #expect(pages > 2048, "no checkpoint was due")
        #expect(rename(name + ".away", name) == 0)
        #expect(try paths(index).count == count)
        try index.close()
    }

    /// What a killed run committed may not be on the disk. The database holds it, on the disk, before others
    /// rely on it.
    @Test func theLogOfAKilledRunIsKept() throws {
        let index = try open()
        try index.put([try fullRecord("Documents/a")])
        let crashed = try TemporaryFolder()
        for suffix in ["", "-wal"] {
            let name = ".mirror/index.sqlite" + suffix
            try crashed.write(try #require(folder.bytes(of: name)), to: name)
        }
        let before = crashed.bytes(of: ".mirror/index.sqlite")
        let next = try Index.open(
            try RootDirectory(opening: crashed.path), now: Instant(seconds: 0))
        #expect(crashed.bytes(of: ".mirror/index.sqlite") != before)
        #expect(try paths(next) == ["Documents/a"])
    }
}
