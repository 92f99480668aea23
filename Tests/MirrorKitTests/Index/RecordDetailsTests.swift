import MirrorTestSupport
import Testing

@testable import MirrorModel
@testable import MirrorStore
@testable import MirrorSystem

/// The facts of a record that share a column, and how they came from the schema before.
@Suite struct RecordDetailsTests: IndexSuite {
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
            try database.all(FileRows.everyRecord) { (row: inout Row) throws(IndexError) in
                try row.record()
            }
        }
    }

    private func walk(_ index: Index, over records: [IndexRecord]) throws {
        var cursor = try index.projectionCursor(from: "", readsRecords: true)
        for record in records {
            #expect(try cursor.next())
            #expect(try cursor.wholeRecord() == record)
            #expect(cursor.origin?.verified == record.verified)
            #expect(cursor.origin?.confirmedAt == record.confirmedAt)
            #expect(cursor.origin?.freshUntil == record.freshUntil)
            let source = cursor.origin?.source.map { String(decoding: $0, as: UTF8.self) }
            #expect(source == record.provenance?.source.text)
        }
    }

    @Test func everyFormOfEachFactComesBack() throws {
        let index = try open().index
        let records = try Self.records()
        #expect(records.count > 60)
        try index.write { (batch: inout Database) throws(IndexError) in
            for record in records { try FileRows.put(record, in: &batch) }
        }
        #expect(try stored(index) == records)
        try walk(index, over: records)
    }

    @Test func detailsThatAreCutOrChangedAreNeverReadAsOthers() throws {
        let record = try fullRecord("Caches/a")
        var details: [UInt8] = []
        RecordDetails.withText(of: record) { details = Array($0) }
        func read(_ bytes: [UInt8]) -> RecordDetails? {
            bytes.withUnsafeBufferPointer { RecordDetails($0, knownType: nil) }
        }
        #expect(read(details)?.validators == record.validators)
        // Without the last field, there is no other digest; the digest itself then tells.
        let lastField = DigestAlgorithm.sha512.rawValue.utf8.count
        for count in 0..<details.count where count != details.count - lastField {
            #expect(read(Array(details.prefix(count))) == nil, "cut at \(count)")
        }
        #expect(read(details + [0x1F]) == nil)
        #expect(read([0x1F] + details) == nil)
        let fields = details.split(separator: 0x1F, omittingEmptySubsequences: false)
        #expect(fields.count == 8)
        let unsound: [[String]] = [
            ["", "x", "dd", "D"], ["", "-", "x", "1x", "+1", "99999999999999999999"],
            [], ["v1", "\""], ["x", "--1", "9223372036854775808"], ["3", "0", "11"], [],
            ["sha0", "SHA512"],
        ]
        for (at, values) in unsound.enumerated() {
            for value in values {
                var other = fields.map(Array.init)
                other[at] = Array(value.utf8)
                #expect(read(Array(other.joined(separator: [0x1F]))) == nil, "\(at): \(value)")
            }
        }
        // A strong validator that is not there.
        for strong in ["1", "2"] {
            let text = "d\u{1F}1\u{1F}\u{1F}\u{1F}\u{1F}\(strong)\u{1F}\u{1F}"
            #expect(read(Array(text.utf8)) == nil)
        }
        #expect(read(fields.enumerated().flatMap { $0 == 0 ? [0xFF] : [0x1F] + $1 }) == nil)
    }

    @Test func aTimeOfUseIsNotBeforeThePromotion() throws {
        let index = try open().index
        let record = try fullRecord("Caches/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try FileRows.put(record, in: &batch)
            try FileRows.noteUse(
                of: record.target, at: record.promotedAt.advanced(bySeconds: -9), in: &batch)
        }
        var cursor = try index.cursorOfUses(in: .caches)
        #expect(try cursor.next())
        #expect(cursor.lastUse == record.promotedAt)
    }

    @Test func rowsOfTheFormerSchemaAreReadAndMigrated() throws {
        let records = try Self.records()
        let intent = PromotionIntent(
            kind: .landing, staged: "Caches/.x.mirror-00", stagedInode: 3, replaces: true,
            record: try fullRecord("Caches/intended"))
        let former = try open().index
        try former.write { (batch: inout Database) throws(IndexError) in
            for record in records { try FileRows.put(record, in: &batch) }
            _ = try IntentRows.put(intent, in: &batch)
            try FormerRecords.make(in: &batch)
        }
        try former.close()
        let reader = try IndexOpening.openForReading(try RootDirectory(opening: folder.path))
        #expect(try stored(reader) == records)
        // A walk has a connection of its own.
        try walk(reader, over: records)
        var uses = try reader.cursorOfUses(in: .caches)
        #expect(try uses.next())
        #expect(uses.lastUse == records[0].promotedAt)
        try reader.close()
        let opened = try open()
        #expect(opened.notice == nil)
        #expect(try stored(opened.index) == records)
        let (version, intents) = try opened.index.read {
            (database: inout Database) throws(IndexError) in
            (try database.number("PRAGMA user_version"), try IntentRows.intents(in: &database))
        }
        #expect(version == Schema.version)
        #expect(intents.map(\.record) == [intent.record])
        #expect(intents.map(\.id) == [1])
    }

    /// A server of the tree reads an index while the first run of a new version migrates it.
    @Test func whoReadsForLongGoesOnAfterTheMigration() throws {
        let record = try fullRecord("Caches/a")
        let former = try open().index
        try former.write { (batch: inout Database) throws(IndexError) in
            try FileRows.put(record, in: &batch)
            try FormerRecords.make(in: &batch)
        }
        try former.close()
        let watch = try IndexWatch(try RootDirectory(opening: folder.path))
        #expect(try stored(try watch.current().index) == [record])
        let opened = try open()
        #expect(try stored(try watch.current().index) == [record])
        try opened.index.close()
        #expect(try stored(try watch.current().index) == [record])
        try watch.close()
    }

    /// An earlier mirror was killed while a batch was under way.
    @Test func intentsThatAnEarlierVersionPackedAreRead() throws {
        let index = try open().index
        let intents = try Self.records().map {
            PromotionIntent(
                kind: .landing, staged: "tmp/a.part", stagedInode: 3, replaces: false, record: $0)
        }
        var packed = PackedWriter()
        for intent in intents {
            packed.addIntent(
                intent.kind, staged: intent.staged, aside: nil, inode: intent.stagedInode,
                replaces: false)
            packed.add(former: intent.record)
        }
        let bytes = [1] + packed.bytes.dropFirst()
        let read = try index.write { (batch: inout Database) throws(IndexError) in
            try batch.execute("INSERT INTO batches (intents) VALUES (?)") { $0.add(bytes) }
            return try IntentRows.intents(in: &batch)
        }
        #expect(read == intents)
    }

    /// A reader sees the new version of a set's files before their rows are written, in a tree of an
    /// earlier version too.
    @Test func promotedFilesOfASetAreSeenInTheFormerSchema() throws {
        let root = try RootDirectory(opening: folder.path)
        try folder.write("new", to: "Caches/a")
        var scan = StatCursor(root)
        guard case .file(let stamp, _) = try scan.look(at: try Target("Caches/a")) else {
            Issue.record("no file")
            return
        }
        let old = try fullRecord("Caches/a")
        var new = old
        new.stamp = stamp
        new.sha256 = ByteHasher.digest(.sha256, of: Array("new".utf8))
        let other = try fullRecord("Caches/b")
        let former = try open().index
        try former.write { (batch: inout Database) throws(IndexError) in
            try FileRows.put(old, in: &batch)
            try FileRows.put(other, in: &batch)
            let number = try IntentRows.put(
                PromotionIntent(
                    kind: .landing, staged: "Caches/.a.mirror-00", stagedInode: stamp.inode,
                    replaces: false, record: new), in: &batch)
            try batch.run(
                """
                INSERT INTO sets (owners, is_committed, first_intent, last_intent)
                VALUES ('maps', 1, \(number), \(number));
                """)
            try FormerRecords.make(in: &batch)
        }
        try former.close()
        let reader = try IndexOpening.openForReading(root)
        #expect(try stored(reader) == [new, other])
        try reader.close()
    }
}
