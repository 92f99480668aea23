import MirrorTestSupport
import Testing

@testable import MirrorKit

/// The rows of files, and what becomes of an index with other tables.
@Suite struct FileRowsTests: IndexSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Each fact in each form, beside others that are there and that are not.
    private static func records() throws -> [IndexRecord] {
        let full = try fullRecord("Caches/full")
        let bare = IndexRecord(
            target: try Target("Caches/bare"), owner: "m", stamp: full.stamp, sha256: full.sha256,
            verified: .none, promotedAt: Instant(milliseconds: 0))
        var records = [full, bare]
        for (number, base) in [full, bare].enumerated() {
            func add(_ change: (inout IndexRecord) throws -> Void) throws {
                var record = base
                record.target = try Target("Caches/\(number)-\(records.count)")
                try change(&record)
                records.append(record)
            }
            for verified in [Verification.digest, .size, .none] {
                try add { $0.verified = verified }
            }
            for time in [Int64.min, -1, 0, 9, 10, 1_795_233_360_123, .max] {
                try add { $0.promotedAt = Instant(milliseconds: time) }
                let date = HTTPDate(seconds: time)
                try add { $0.validators = Validators(lastModified: date) }
                try add {
                    $0.validators = Validators(lastModified: date, strong: .lastModified(date))
                }
            }
            for text in ["\"\"", "\"v1\"", "W/\"0\"", "\"a,b c\"", "\"\u{FC}\""] {
                guard let tag = EntityTag(text) else { continue }
                try add { $0.validators = Validators(entityTag: tag) }
                try add { $0.validators = Validators(entityTag: tag, strong: .entityTag(tag)) }
            }
            let source = SourceKey(text: "https://a/b")
            for answeredBy in [source.text, "https://c/d"] {
                try add { $0.provenance = Provenance(source: source, answeredBy: answeredBy) }
            }
            try add { $0.provenance = nil }
            for type in [nil, "text/plain", "a/b"] { try add { $0.mediaType = type } }
            for algorithm in DigestAlgorithm.allCases where algorithm != .sha256 {
                try add { $0.otherDigest = ByteHasher.digest(algorithm, of: [1]) }
            }
        }
        return records.sorted { $0.target < $1.target }
    }

    private func stored(_ index: Index) throws -> [IndexRecord] {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.all(Schema.records + " ORDER BY path") {
                (row: inout Row) throws(IndexError) in
                try row.record()
            }
        }
    }

    private func walk(_ index: Index, over records: [IndexRecord]) throws {
        var cursor = try index.projectionCursor(from: "")
        for record in records {
            #expect(try cursor.next())
            #expect(try cursor.wholeRecord() == record)
            #expect(cursor.verification == record.verified)
        }
    }

    @Test func everyFormOfEachFactComesBack() throws {
        let index = try open()
        let records = try Self.records()
        #expect(records.count > 60)
        try index.put(records)
        #expect(try stored(index) == records)
        try walk(index, over: records)
    }

    @Test func noTimeOfUsePrecedesThePromotion() throws {
        let index = try open()
        let record = try fullRecord("Caches/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
            try batch.noteUse(
                of: record.target, at: record.promotedAt.advanced(bySeconds: -9))
        }
        var cursor = try index.cursorOfUses(in: .caches)
        #expect(try cursor.next())
        #expect(cursor.lastUse == record.promotedAt)
    }

    @Test func anEarlierMirrorsIndexIsKeptAside() throws {
        let former = try open()
        try former.put([try fullRecord("Caches/a")])
        try former.write { (batch: inout Database) throws(IndexError) in
            try batch.run(
                "PRAGMA application_id = \(Schema.formerApplication); PRAGMA user_version = 8")
        }
        try former.close()
        let bytes = folder.bytes(of: ".mirror/index.sqlite")
        let root = try RootDirectory(opening: folder.path)
        let reading = #expect(throws: MirrorError.self) { try Index.openForReading(root) }
        #expect(reading?.message.contains("an earlier mirror made the index") == true)
        #expect(folder.bytes(of: ".mirror/index.sqlite") == bytes)
        try readFormer {
            let refusal = #expect(throws: MirrorError.self) { try open() }
            #expect(refusal?.message.contains("another process reads") == true)
        }
        let opened = try open()
        let aside = folder.names(in: ".mirror").filter { $0.contains(".former-") }
        #expect(aside.count == 1)
        #expect(folder.bytes(of: ".mirror/" + (aside.first ?? "")) == bytes)
        #expect(opened.notice?.contains("earlier mirror") == true)
        #expect(opened.notice?.contains(aside.first ?? "?") == true)
        #expect(try stored(opened).isEmpty)
    }

    /// Runs a closure while another connection has the index open.
    private func readFormer(_ body: () throws -> Void) throws {
        let readWrite: Int32 = 2
        var other = try Database(folder.path + "/.mirror/index.sqlite", flags: readWrite)
        _ = try other.number("SELECT count(*) FROM files")
        try body()
        _ = try other.number("SELECT count(*) FROM files")
    }

    /// A reader sees the new version of a set's files before their rows are written.
    @Test func filesOfASetAreSeenBeforeRows() throws {
        let root = try RootDirectory(opening: folder.path)
        try folder.write("new", to: "Caches/a")
        var scan = StatCursor(root)
        guard case .file(let stamp) = try scan.look(at: try Target("Caches/a")) else {
            Issue.record("no file")
            return
        }
        let old = try fullRecord("Caches/a")
        var new = old
        new.stamp = stamp
        new.sha256 = ByteHasher.digest(.sha256, of: Array("new".utf8))
        let other = try fullRecord("Caches/b")
        let index = try open()
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(old)
            try batch.put(other)
            let number = try batch.put(
                PromotionIntent(
                    kind: .promotion, staged: "Caches/.a.mirror-00", stagedInode: stamp.inode,
                    replaces: false, record: new))
            try batch.run(
                """
                INSERT INTO sets (owners, is_committed, first_intent, last_intent)
                VALUES ('maps', 1, \(number), \(number));
                """)
        }
        try index.close()
        let reader = try Index.openForReading(root)
        #expect(try stored(reader) == [new, other])
        try reader.close()
    }
}
