import CSQLite
import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

private let start = Instant(milliseconds: 1_795_233_360_123)

@Suite struct IndexDamageTests: IndexSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aSchemaWithOtherColumnNamesIsDamage() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        try index.close()
        do {
            let flags = SQLITE_OPEN_READWRITE
            let database = try Database(folder.path + "/.mirror/index.sqlite", flags: flags)
            try database.run(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, 'confirmed_at', 'confirmed_bt');
                """)
        }
        let opened = try open()
        #expect(opened.notice?.contains("damaged") == true)
        #expect(try paths(opened) == [])
        try opened.close()
        #expect(try open().notice == nil)
    }

    @Test func aDamagedIndexMovesAsideWithItsLog() throws {
        try folder.write(
            "this is no database, but it is long enough to have a header of a hundred "
                + "bytes and then some", to: ".mirror/index.sqlite")
        try folder.write("", to: ".mirror/index.sqlite-wal")
        try folder.write("y", to: ".mirror/index.sqlite-shm")
        let opened = try open()
        #expect(opened.notice?.contains("index.sqlite.damaged-20261121T035600Z") == true)
        try opened.close()
        let stem = "index.sqlite.damaged-20261121T035600Z"
        #expect(
            folder.names(in: ".mirror") == ["index.sqlite", stem, stem + "-shm", stem + "-wal"])
    }

    /// Nothing is moved away that is no index, what it is is said, and nobody waits for a pipe.
    @Test(
        arguments: [
            ("folder", "a folder is where"), ("pipe", "a pipe, a socket or a device is where"),
            ("link", "a symbolic link is in the way"),
        ], ["", "-wal", "-shm", "-journal"])
    func whatIsNoIndexFileIsNamed(_ given: (String, String), suffix: String) throws {
        let (kind, words) = given
        if !suffix.isEmpty { try open().close() }
        try folder.write("", to: ".mirror/other")
        let path = folder.path + "/.mirror/index.sqlite" + suffix
        switch kind {
        case "folder": #expect(mkdir(path, 0o700) == 0)
        case "pipe": #expect(mkfifo(path, 0o600) == 0)
        default: #expect(symlink("other", path) == 0)
        }
        let error = #expect(throws: MirrorError.self) { _ = try open() }
        #expect(error?.code == .inputOutput)
        #expect(error?.message.contains(".mirror/index.sqlite\(suffix): " + words) == true)
    }

    @Test func aLogWithoutADatabaseIsNotReplayed() throws {
        try folder.write("stale", to: ".mirror/index.sqlite-wal")
        let index = try open()
        #expect(try paths(index).isEmpty)
        try index.close()
        #expect(folder.names(in: ".mirror").contains { $0.hasSuffix("Z-wal") })
    }

    /// Makes an index, finds nonsense in a row of it, and closes it.
    private func meetNonsense() throws {
        let index = try open()
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
        try index.close()
    }

    @Test func nonsenseInARowMovesTheIndexAside() throws {
        try meetNonsense()
        // Whoever only reads is told so, in place of being shown a tree without files.
        let root = try RootDirectory(opening: folder.path)
        let error = #expect(throws: MirrorError.self) { try Index.openForReading(root) }
        #expect(error?.message.contains("found while it was in use") == true)
        let opened = try open()
        #expect(opened.notice?.contains("found while it was in use") == true)
        #expect(opened.notice?.contains("kept as .mirror/index.sqlite.damaged-") == true)
        #expect(folder.names(in: ".mirror").contains { $0.hasPrefix("index.sqlite.damaged-") })
        #expect(try paths(opened).isEmpty)
    }

    @Test func aMarkWithoutItsDatabaseMeansNothing() throws {
        try folder.write("", to: ".mirror/index.damaged")
        let opened = try open()
        #expect(opened.notice == nil)
        #expect(!folder.names(in: ".mirror").contains("index.damaged"))
        try opened.close()
        #expect(try open().notice == nil)
    }

    @Test func unmarkableDamageMovesTheIndexAtOnce() throws {
        // A file of this name cannot be made.
        try folder.write("", to: ".mirror/index.damaged/full")
        try meetNonsense()
        #expect(folder.names(in: ".mirror").contains { $0.hasPrefix("index.sqlite.damaged-") })
        #expect(try paths(try open()).isEmpty)
    }

    @Test(arguments: ["UPDATE files SET sha256 = x'00'", "UPDATE files SET verified = 'perhaps'"])
    func nonsenseInSmallIndexesIsFoundAtOnce(sql: String) throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
            try batch.run(sql)
        }
        try index.close()
        // To a reader it must not look like one without rows.
        let root = try RootDirectory(opening: folder.path)
        let error = #expect(throws: MirrorError.self) { try Index.openForReading(root) }
        #expect(error?.code == .inputOutput)
        let opened = try open()
        #expect(opened.notice != nil)
        #expect(try paths(opened).isEmpty)
    }

    @Test func overwrittenPagesAreDamage() throws {
        let index = try open()
        for number in 0..<250 {
            let record = try fullRecord("Documents/\(number)")
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
        try index.close()
        var bytes = try #require(folder.bytes(of: ".mirror/index.sqlite"))
        let middle = bytes.count / 2
        for at in middle..<middle + 8192 { bytes[at] = 0xA5 }
        try folder.write(bytes, to: ".mirror/index.sqlite")
        let opened = try open()
        let notice = try #require(opened.notice)
        // SQLite's words have a heading in a line of its own.
        #expect(
            notice.contains("age ") && !notice.contains("\n") && !notice.contains("***"),
            "\(notice)")
        #expect(try paths(opened).isEmpty)
    }

    @Test func damageDuringARunIsRepairedNext() throws {
        do {
            let index = try open()
            let record = try fullRecord("Documents/a")
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
                try batch.run("UPDATE files SET path = 'nowhere'")
            }
            #expect(throws: MirrorError.self) { try paths(index) }
            // Killed: nobody closes it.
        }
        #expect(folder.names(in: ".mirror").contains("index.damaged"))
        let opened = try open()
        #expect(opened.notice != nil)
        #expect(!folder.names(in: ".mirror").contains("index.damaged"))
    }

    @Test func corruptionErrorsKeepASoundIndex() throws {
        let index = try open()
        let record = try fullRecord("Documents/a")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        #expect(throws: IndexError.doubtful("malformed")) {
            try index.read { (_: inout Database) throws(IndexError) in
                throw IndexError(code: SQLITE_CORRUPT, words: "malformed")
            }
        }
        try index.close()
        #expect(folder.names(in: ".mirror").contains("index.doubted"))
        let opened = try open()
        #expect(opened.notice == nil)
        #expect(try paths(opened) == ["Documents/a"])
        #expect(!folder.names(in: ".mirror").contains("index.doubted"))
    }

    @Test func suspectedIndexGetsAFullIntegrityCheck() throws {
        let index = try open()
        let target = try Target("Documents/a")
        let part = PartRecord(
            name: PartRecord.freshName(for: target, identity: .anonymous), target: target,
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
        try index.close()
        let unaware = try open()
        #expect(unaware.notice == nil)
        try unaware.close()
        try folder.write([], to: ".mirror/index.doubted")
        #expect(try open().notice != nil)
        #expect(!folder.names(in: ".mirror").contains("index.doubted"))
    }
}
