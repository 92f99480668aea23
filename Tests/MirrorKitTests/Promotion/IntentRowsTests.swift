import MirrorTestSupport
import Testing

@testable import MirrorModel
@testable import MirrorStore
@testable import MirrorSystem

/// Intents in the index: those of a batch in one value, those of a set in rows.
@Suite struct IntentRowsTests {
    private let folder: TemporaryFolder
    private let index: Index

    init() throws {
        folder = try TemporaryFolder()
        index = try IndexOpening.open(
            try RootDirectory(opening: folder.path), now: PromotionTree.time
        ).index
    }

    private static func intent(_ path: String, isFull: Bool) throws -> PromotionIntent {
        var record = try fullRecord(path)
        if !isFull {
            record = IndexRecord(
                target: record.target, owner: "ä", stamp: record.stamp, sha256: record.sha256,
                verified: .digest, promotedAt: record.promotedAt)
        }
        return PromotionIntent(
            kind: isFull ? .move : .landing, staged: isFull ? "Documents/old" : "tmp/a.part",
            aside: isFull ? nil : "Caches/.b.mirror-00", stagedInode: .max, replaces: isFull,
            record: record)
    }

    private func put(packed bytes: [UInt8]) throws {
        try index.write { (batch: inout Database) throws(IndexError) in
            try IntentRows.removeBatches(in: &batch)
            try batch.execute("INSERT INTO batches (intents) VALUES (?)") { $0.add(bytes) }
        }
    }

    private func read() throws(IndexError) -> [PromotionIntent] {
        try index.read { (database: inout Database) throws(IndexError) in
            try IntentRows.intents(in: &database)
        }
    }

    @Test func eachColumnOfABatchedIntentComesBack() throws {
        let intents = [
            try Self.intent("Documents/a", isFull: true),
            try Self.intent("Caches/b", isFull: false),
        ]
        let number = try index.write { (batch: inout Database) throws(IndexError) in
            try IntentRows.put(batch: intents, in: &batch)
        }
        #expect(try read() == intents)
        try index.write { (batch: inout Database) throws(IndexError) in
            try IntentRows.removeBatch(number, in: &batch)
        }
        #expect(try read().isEmpty)
    }

    /// A hidden name is longer than that of the target that it stands beside.
    @Test func hiddenNamesBesideTheLongestPathComeBack() throws {
        let folders = Array(repeating: String(repeating: "n", count: 250), count: 12)
        let start = "Documents/" + folders.joined(separator: "/") + "/"
        let path = start + String(repeating: "f", count: Target.longestPath - start.utf8.count)
        let target = try Target(path)
        var intent = try Self.intent(path, isFull: true)
        intent = PromotionIntent(
            kind: .landing, staged: HiddenName.freshPath(for: target),
            aside: HiddenName.freshPath(for: target), stagedInode: 1, replaces: true,
            record: intent.record)
        try index.write { (batch: inout Database) throws(IndexError) in
            _ = try IntentRows.put(batch: [intent], in: &batch)
        }
        #expect(try read() == [intent])
    }

    @Test func eachBatchGoesAlone() throws {
        let (a, b) = (
            try Self.intent("Documents/a", isFull: true), try Self.intent("Caches/b", isFull: false)
        )
        try index.write { (batch: inout Database) throws(IndexError) in
            let number = try IntentRows.put(batch: [a], in: &batch)
            _ = try IntentRows.put(batch: [b], in: &batch)
            try IntentRows.removeBatch(number, in: &batch)
        }
        #expect(try read() == [b])
    }

    /// One statement writes several rows; the last ones are too few for the longest.
    @Test(arguments: [0, 1, 5, 23, 40])
    func rowsThatIntentsHaveAreWrittenWithTheirNewStamps(count: Int) throws {
        var packed = PackedWriter()
        var rows: [PackedRow] = []
        var wanted: [IndexRecord] = []
        for number in 0..<count {
            let intent = try Self.intent("Caches/\(100 + number)", isFull: number % 3 == 0)
            packed.addIntent(.landing, staged: "tmp/a", aside: nil, inode: 7, replaces: false)
            var record = intent.record
            rows.append(PackedRow(start: packed.count, stamp: Self.stamp(number)))
            packed.add(record, stamp: record.stamp)
            record.stamp = Self.stamp(number)
            wanted.append(record)
        }
        try index.write { (batch: inout Database) throws(IndexError) in
            try FileRows.put(rows, of: packed, in: &batch)
        }
        #expect(try index.records(for: wanted.map(\.target)) == wanted)
    }

    private static func stamp(_ number: Int) -> FileStamp {
        FileStamp(size: Int64(number), modified: -1, changed: .max, inode: .max - UInt64(number))
    }

    /// A value that was cut off, grew, or has another byte somewhere is never read as fewer intents.
    @Test func whatIsNotWhollyThereIsDamage() throws {
        let intent = try Self.intent("Documents/a", isFull: true)
        var packed = PackedWriter()
        packed.add(intent)
        let bytes = packed.bytes
        for count in bytes.indices where count != 1 {
            try put(packed: Array(bytes.prefix(count)))
            #expect(throws: IndexError.self, "cut at \(count)") { try read() }
        }
        for more: UInt8 in [0, 1, 2, 255] {
            try put(packed: bytes + [more])
            #expect(throws: IndexError.self, "with \(more)") { try read() }
        }
        for at in bytes.indices {
            for change: UInt8 in [1, 0x80, 0xFF] {
                var other = bytes
                other[at] ^= change
                try put(packed: other)
                // Some bytes are those of a name or a number, and have no wrong value.
                if let read = try? read() { #expect(read.count == 1) }
            }
        }
        try put(packed: [PackedWriter.version + 1] + bytes.dropFirst())
        #expect(throws: IndexError.self) { try read() }
    }

    @Test func damagedIntentsAreFoundWhenTheIndexIsOpened() throws {
        try put(packed: [PackedWriter.version, 9])
        try index.close()
        let opened = try IndexOpening.open(
            try RootDirectory(opening: folder.path), now: PromotionTree.time)
        #expect(opened.notice?.contains("damaged") == true)
    }

    /// Until version 5 of the schema each intent was a row.
    @Test func whatAnEarlierVersionIntendedIsSettled() async throws {
        try index.close()
        let probe = PromotionProbe(goesOn: { $0 != .placed })
        let tree = try PromotionTree(folder, probe)
        _ = await tree.promote(try tree.landing("Documents/f", "new"))
        await tree.promoter.stop()
        try tree.index.write { (batch: inout Database) throws(IndexError) in
            try FormerRecords.make(in: &batch)
            try batch.run("DROP TABLE batches; PRAGMA user_version = 5")
        }
        try tree.index.close()
        let reader = try IndexOpening.openForReading(tree.root)
        try reader.close()
        let next = try PromotionTree(folder)
        #expect(try next.intents().count == 1)
        _ = try Recovery.settle(next.root, next.index, now: PromotionTree.time)
        #expect(try next.intents().isEmpty)
        let row = try #require(try next.record("Documents/f"))
        #expect(try next.look("Documents/f") == .file(row.stamp, sha256: nil))
        await next.promoter.stop()
    }
}
