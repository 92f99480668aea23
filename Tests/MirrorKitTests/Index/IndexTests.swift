import CSQLite
import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit
@testable import MirrorModel

private let start = Instant(milliseconds: 1_795_233_360_123)

/// A record with a value in every column.
func fullRecord(_ path: String, owner: String = "maps", bytes: [UInt8] = [1]) throws -> IndexRecord
{
    var record = IndexRecord(
        target: try Target(path), owner: owner,
        stamp: FileStamp(size: 1, modified: 2, changed: -3, inode: .max),
        sha256: ByteHasher.digest(.sha256, of: bytes), verified: .size, promotedAt: start)
    record.otherDigest = ByteHasher.digest(.sha512, of: bytes)
    record.provenance = Provenance(
        source: SourceKey(text: "https://a/b?00"), answeredBy: "https://c/d")
    let tag = try #require(EntityTag("\"v1\""))
    record.validators = Validators(
        entityTag: tag, lastModified: HTTPDate(seconds: 7), strong: .entityTag(tag))
    record.mediaType = "text/plain"
    record.confirmedAt = start.advanced(bySeconds: 5)
    record.freshUntil = start.advanced(bySeconds: 60)
    record.isExecutable = true
    return record
}

@Suite struct IndexTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> OpenedIndex {
        try Index.open(try RootDirectory(opening: folder.path), now: start)
    }

    private func paths(_ index: Index) throws -> [String] {
        var cursor = try index.records()
        var paths: [String] = []
        while let record = try cursor.next() { paths.append(record.target.path) }
        return paths
    }

    @Test func aSchemaWhoseColumnsHaveOtherNamesIsDamage() throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        try index.close(now: start)
        do {
            let flags = SQLITE_OPEN_READWRITE
            let database = try Database(folder.path + "/.mirror/index.sqlite", flags: flags)
            try database.run(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, 'promoted_at', 'promoted_bt');
                """)
        }
        let opened = try open()
        #expect(opened.notice?.contains("damaged") == true)
        #expect(try paths(opened.index) == [])
        try opened.index.close(now: start)
        #expect(try open().notice == nil)
    }

    @Test func aRecordComesBackAsItWasPut() throws {
        let index = try open().index
        #expect(index.wasCreated)
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        let (found, owned) = try index.read {
            (database: inout Database) throws(IndexError) in
            (
                try database.record(for: record.target),
                try database.records(ownedBy: "maps")
            )
        }
        #expect(found == record)
        #expect(owned == [record])
    }

    @Test func recordsAreWalkedInTheOrderOfTheirBytes() throws {
        let index = try open().index
        let names = [
            "Caches/é", "Caches/e\u{301}", "Caches/a/b", "Caches/a-b", "Documents/a", "Caches/B",
        ]
        for name in names {
            let record = try fullRecord(name)
            try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        }
        let expected = try names.map { try Target($0) }.sorted()
        #expect(try paths(index).map { Array($0.utf8) } == expected.map { Array($0.path.utf8) })
    }

    @Test func aFailedTransactionWritesNothing() throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        #expect(throws: IndexError.self) {
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
                throw IndexError.database(code: 1, words: "made up")
            }
        }
        #expect(try paths(index).isEmpty)
    }

    @Test func nothingButTheDatabaseStaysAfterClosing() throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        try index.makeDurable()
        try index.close(now: start)
        #expect(folder.names(in: ".mirror") == ["index.sqlite"])
        let again = try open()
        #expect(try paths(again.index) == ["Documents/a"])
        #expect(!again.index.wasCreated)
        #expect(again.notice == nil)
    }

    @Test func aReaderSeesTheRowsAndLeavesNoFile() throws {
        let writer = try open().index
        let record = try fullRecord("Documents/a")
        try writer.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        let root = try RootDirectory(opening: folder.path)
        let during = try Index.openForReading(root).index
        #expect(try paths(during) == ["Documents/a"])
        try during.close(now: start)
        try writer.close(now: start)
        let after = try Index.openForReading(root).index
        #expect(try paths(after) == ["Documents/a"])
        try after.close(now: start)
        #expect(folder.names(in: ".mirror") == ["index.sqlite"])
    }

    @Test func aReaderOfARootWithoutAnIndexSeesNothingAndMakesNothing() throws {
        let index = try Index.openForReading(try RootDirectory(opening: folder.path)).index
        #expect(try paths(index).isEmpty)
        #expect(folder.names().isEmpty)
    }

    @Test func aDamagedIndexIsMovedAsideWithItsLog() throws {
        try folder.write(
            "this is no database, but it is long enough to have a header of a hundred "
                + "bytes and then some", to: ".mirror/index.sqlite")
        try folder.write("", to: ".mirror/index.sqlite-wal")
        try folder.write("y", to: ".mirror/index.sqlite-shm")
        let opened = try open()
        #expect(opened.notice?.contains("index.sqlite.damaged-20261121T035600Z") == true)
        #expect(opened.index.wasCreated)
        try opened.index.close(now: start)
        let stem = "index.sqlite.damaged-20261121T035600Z"
        #expect(
            folder.names(in: ".mirror") == ["index.sqlite", stem, stem + "-shm", stem + "-wal"])
    }

    @Test func aLogWithoutADatabaseIsNotReplayed() throws {
        try folder.write("stale", to: ".mirror/index.sqlite-wal")
        let index = try open().index
        #expect(try paths(index).isEmpty)
        try index.close(now: start)
        #expect(folder.names(in: ".mirror").contains { $0.hasSuffix("Z-wal") })
    }

    @Test func nonsenseInARowIsDamageAndMovesTheIndexAside() throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
            try batch.run("UPDATE files SET path = '../etc/passwd'")
        }
        #expect(throws: IndexError.self) {
            try index.read { (database: inout Database) throws(IndexError) in
                try database.records(ownedBy: "maps").count
            }
        }
        try index.close(now: start)
        #expect(folder.names(in: ".mirror").contains { $0.hasPrefix("index.sqlite.damaged-") })
        #expect(try paths(try open().index).isEmpty)
    }

    @Test(arguments: ["UPDATE files SET sha256 = x'00'", "UPDATE files SET verified = 'perhaps'"])
    func nonsenseIsFoundWhenASmallIndexIsOpened(sql: String) throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
            try batch.run(sql)
        }
        try index.close(now: start)
        let reader = try Index.openForReading(try RootDirectory(opening: folder.path))
        #expect(reader.notice != nil)
        #expect(try paths(reader.index).isEmpty)
        let opened = try open()
        #expect(opened.notice != nil)
        #expect(opened.index.wasCreated)
        #expect(try paths(opened.index).isEmpty)
    }

    @Test func overwrittenPagesAreDamage() throws {
        let index = try open().index
        for number in 0..<500 {
            let record = try fullRecord("Documents/\(number)")
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
        try index.close(now: start)
        var bytes = try #require(folder.bytes(of: ".mirror/index.sqlite"))
        let middle = bytes.count / 2
        for at in middle..<middle + 8192 { bytes[at] = 0xA5 }
        try folder.write(bytes, to: ".mirror/index.sqlite")
        let opened = try open()
        #expect(opened.notice != nil)
        #expect(try paths(opened.index).isEmpty)
    }

    @Test func damageThatWasFoundLateIsRememberedByTheNextRun() throws {
        do {
            let index = try open().index
            let record = try fullRecord("Documents/a")
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
                try batch.run("UPDATE files SET path = 'nowhere'")
            }
            #expect(throws: IndexError.self) { try paths(index) }
            // Killed: nobody closes it.
        }
        #expect(folder.names(in: ".mirror").contains("index.damaged"))
        let opened = try open()
        #expect(opened.notice != nil)
        #expect(!folder.names(in: ".mirror").contains("index.damaged"))
    }

    @Test func whatSQLiteCallsDamageCostsASoundIndexNothing() throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        #expect(throws: IndexError.doubtful("malformed")) {
            try index.read { (_: inout Database) throws(IndexError) in
                throw IndexError(code: SQLITE_CORRUPT, words: "malformed")
            }
        }
        try index.close(now: start)
        #expect(folder.names(in: ".mirror").contains("index.doubted"))
        let opened = try open()
        #expect(opened.notice == nil)
        #expect(try paths(opened.index) == ["Documents/a"])
        #expect(!folder.names(in: ".mirror").contains("index.doubted"))
    }

    @Test func aDoubtedIndexIsLookedAtThoroughly() throws {
        let index = try open().index
        let target = try Target("Documents/a")
        let part = PartRecord(
            name: PartName.fresh(for: target, identity: .anonymous), target: target,
            identity: .anonymous, total: 10,
            provenance: Provenance(source: SourceKey(text: "s"), answeredBy: "a"),
            validators: Validators())
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(part)
            // Sound pages, and an index that does not have what its table has.
            try batch.run(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = 'CREATE INDEX parts_by_target ON parts (kind)'
                    WHERE name = 'parts_by_target';
                """)
        }
        try index.close(now: start)
        let unaware = try open()
        #expect(unaware.notice == nil)
        try unaware.index.close(now: start)
        try folder.write([], to: ".mirror/index.doubted")
        #expect(try open().notice != nil)
        #expect(!folder.names(in: ".mirror").contains("index.doubted"))
    }

    @Test func aCopyElsewhereThatAKilledReaderLeftIsRemovedByTheNext() throws {
        try open().index.close(now: start)
        let root = try RootDirectory(opening: folder.path)
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let left = "\(temporary)/.index-copy-\(RandomBytes.hex(4))"
        try #require(mkdir(left, 0o700) == 0)
        try #require(creat(left + "/index.sqlite", 0o600) >= 0)
        let copy = try PrivateCopy(from: root.openFolder(".mirror"), path: "/nowhere")
        #expect(copy.path.hasPrefix(temporary + "/.index-copy-"))
        #expect(access(left, F_OK) != 0)
    }

    @Test func anIndexThatCannotBeLockedIsNotAskedAgain() throws {
        let index = try open().index
        let error = IndexError(code: SQLITE_PROTOCOL, words: "locking protocol")
        #expect(throws: error) {
            try index.read { (_: inout Database) throws(IndexError) in throw error }
        }
        #expect(throws: error) {
            try index.write { (_: inout Database) throws(IndexError) in Issue.record("asked") }
        }
        #expect(throws: error) { try paths(index) }
        try index.close(now: start)
        #expect(try open().notice == nil)
    }

    @Test(arguments: [true, false])
    func aNewerIndexIsRefusedUntouched(withLog: Bool) throws {
        let index = try open().index
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.run("PRAGMA user_version = \(Schema.version + 1)")
        }
        if withLog {
            // What a crash leaves: the files as they are now, without the connection.
            let crashed = try TemporaryFolder()
            for suffix in ["", "-wal"] {
                let name = ".mirror/index.sqlite" + suffix
                try crashed.write(try #require(folder.bytes(of: name)), to: name)
            }
            try expectRefusal(in: crashed)
        }
        try index.close(now: start)
        try expectRefusal(in: folder)
    }

    private func expectRefusal(in folder: TemporaryFolder) throws {
        let names = folder.names(in: ".mirror")
        let before = names.map { folder.bytes(of: ".mirror/" + $0) }
        let root = try RootDirectory(opening: folder.path)
        let writing = #expect(throws: MirrorError.self) { try Index.open(root, now: start) }
        #expect(writing?.code == .indexNewer)
        let reading = #expect(throws: MirrorError.self) { try Index.openForReading(root) }
        #expect(reading?.code == .indexNewer)
        #expect(folder.names(in: ".mirror") == names)
        #expect(names.map { folder.bytes(of: ".mirror/" + $0) } == before)
    }

    @Test func aCrashedIndexKeepsItsCommits() throws {
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        let crashed = try TemporaryFolder()
        for suffix in ["", "-wal"] {
            let name = ".mirror/index.sqlite" + suffix
            try crashed.write(try #require(folder.bytes(of: name)), to: name)
        }
        let root = try RootDirectory(opening: crashed.path)
        #expect(try paths(try Index.openForReading(root).index) == ["Documents/a"])
        #expect(try paths(try Index.open(root, now: start).index) == ["Documents/a"])
    }

    @Test func manifestsRunsAndServerNamesComeBack() throws {
        let index = try open().index
        var manifest = ManifestRecord(location: "https://a/m.json", owner: "m", kind: .url)
        manifest.copyName = "m.json"
        manifest.copyDigest = ByteHasher.digest(.sha256, of: [])
        manifest.syncedAt = start
        let remembered = manifest
        let run = RunRecord(id: "01J", startedAt: start, endedAt: nil, exit: nil, summary: nil)
        let target = try Target("Caches/x/given.zip")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(remembered)
            try batch.put(run)
            try batch.putServerName(
                target, owner: "m", folder: "Caches/x", source: SourceKey(text: "https://a"))
        }
        try index.read { (database: inout Database) throws(IndexError) in
            #expect(try database.manifests() == [remembered])
            #expect(try database.runs() == [run])
            let name = try database.serverName(
                owner: "m", folder: "Caches/x", source: SourceKey(text: "https://a"))
            #expect(name == target)
        }
    }

    @Test(.enabled(if: SmallFileSystem.isPossible), arguments: [true, false])
    func aReaderWorksOnAReadOnlyMedium(withLog: Bool) throws {
        let disk = try SmallFileSystem(bytes: 8 << 20)
        let path = disk.folder.path
        let index = try open().index
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in try batch.put(record) }
        if !withLog { try index.close(now: start) }
        for name in folder.names(in: ".mirror") where !name.hasSuffix("-shm") {
            try disk.folder.write(
                ".mirror/" + name, try #require(folder.bytes(of: ".mirror/" + name)))
        }
        let remount = try #require(popen("mount -o remount,ro '\(path)'", "w"))
        #expect(pclose(remount) == 0)
        let reader = try Index.openForReading(try RootDirectory(opening: path)).index
        #expect(try paths(reader) == ["Documents/a"])
        try reader.close(now: start)
    }
}
