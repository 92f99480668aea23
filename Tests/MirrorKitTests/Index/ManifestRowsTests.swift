import MirrorModel
import Testing
@testable import MirrorKit

@testable import MirrorStore

/// Rows of manifests, what they own, and how they came from the schema before.
@Suite struct ManifestRowsTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory
    private let start = Instant(seconds: 1_000)

    init() throws {
        folder = try TemporaryFolder()
        root = try RootDirectory(opening: folder.path)
    }

    private func manifests(_ index: Index) throws -> [ManifestRecord] {
        try index.read { (database: inout Database) throws(IndexError) in
            try ManifestRows.manifests(in: &database)
        }
    }

    @Test func everyKindOfPlaceComesBack() throws {
        let index = try IndexOpening.open(root, now: start).index
        let places: [ManifestPlace] = [
            .relative("../m.json"), .either(relative: "../ci/m.json", absolute: "/w/ci/m.json"),
            .absolute("/etc/m.json"), .url(SourceKey(text: "https://a/m.json")),
        ]
        let records = places.enumerated().map { ManifestRecord(name: "\($0)", place: $1) }
        try index.write { (batch: inout Database) throws(IndexError) in
            for record in records { try ManifestRows.put(record, in: &batch) }
        }
        #expect(try manifests(index) == records)
    }

    @Test func impossibleManifestPlaceIsDamage() {
        #expect(ManifestPlace(kind: "url", location: nil, beside: nil) == nil)
        #expect(ManifestPlace(kind: "path", location: nil, beside: nil) == nil)
        #expect(ManifestPlace(kind: "tape", location: "/a", beside: nil) == nil)
    }

    /// The table as version 2 made it, with two manifests of one name.
    private func makeVersion2() throws {
        let index = try IndexOpening.open(root, now: start).index
        let record = try fullRecord("Caches/a", owner: "maps")
        try index.write { (batch: inout Database) throws(IndexError) in
            try FileRows.put(record, in: &batch)
            try FormerRecords.make(in: &batch)
            try batch.run(
                """
                DROP TABLE manifests; DROP TABLE batches; DROP TABLE evicted; DROP TABLE sets; DROP TABLE set_removals;
                CREATE TABLE manifests (
                    location TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL,
                    synced_at INTEGER, copy_name TEXT, copy_sha256 BLOB, source TEXT,
                    answered_by TEXT, entity_tag TEXT, last_modified INTEGER, strong INTEGER,
                    fresh_until INTEGER) WITHOUT ROWID;
                INSERT INTO manifests (location, owner, kind, synced_at) VALUES
                    ('/a/new.json', 'maps', 'path', 2000), ('/z/old.json', 'maps', 'path', 1000);
                INSERT INTO manifests (location, owner, kind, synced_at, copy_name) VALUES
                    ('https://h/m.json', 'far', 'url', 3000, 'x.manifest');
                PRAGMA user_version = 2;
                """)
        }
        try index.close()
    }

    @Test func formerSchemaIsReadAndMigrated() throws {
        try makeVersion2()
        var far = ManifestRecord(name: "far", place: .url(SourceKey(text: "https://h/m.json")))
        far.syncedAt = Instant(milliseconds: 3000)
        far.copiedAt = far.syncedAt
        far.copyName = "x.manifest"
        var maps = ManifestRecord(name: "maps", place: .absolute("/a/new.json"))
        maps.syncedAt = Instant(milliseconds: 2000)
        let reader = try IndexOpening.openForReading(root)
        #expect(try manifests(reader) == [far, maps])
        try reader.close()
        let opened = try IndexOpening.open(root, now: start)
        #expect(opened.notice == nil)
        #expect(try manifests(opened.index) == [far, maps])
        #expect(try opened.index.record(for: try Target("Caches/a"))?.owners == Owners("maps"))
        let version = try opened.index.read { (database: inout Database) throws(IndexError) in
            try database.number("PRAGMA user_version")
        }
        #expect(version == Schema.version)
    }

    @Test func suspectedIndexOfTheFormerSchemaIsNotDamaged() throws {
        try makeVersion2()
        try folder.write([], to: ".mirror/index.doubted")
        let opened = try IndexOpening.open(root, now: start)
        #expect(opened.notice == nil)
        #expect(try manifests(opened.index).map(\.name) == ["far", "maps"])
    }

    @Test func forgottenManifestTakesItsOwnRowsAndLeavesSharedRows() throws {
        let index = try IndexOpening.open(root, now: start).index
        var shared = try fullRecord("Caches/shared", owner: "a")
        shared.owners = Owners(["a", "b"])
        let records = [try fullRecord("Caches/own", owner: "a"), shared]
        try index.changes.put(records)
        try index.changes.put(ManifestRecord(name: "a", place: .absolute("/a.json")))
        try index.changes.forgetManifest(named: "a")
        #expect(try index.record(for: try Target("Caches/own")) == nil)
        #expect(try index.record(for: try Target("Caches/shared"))?.owners == Owners("b"))
        #expect(try manifests(index).isEmpty)
    }

    @Test func renamedManifestKeepsAllItsRows() throws {
        let index = try IndexOpening.open(root, now: start).index
        var shared = try fullRecord("Caches/shared", owner: "a")
        shared.owners = Owners(["a", "c"])
        try index.changes.put([try fullRecord("Caches/own", owner: "a"), shared])
        try index.changes.put(ManifestRecord(name: "a", place: .absolute("/a.json")))
        try index.changes.renameManifests([(old: "a", new: "b")])
        #expect(try index.record(for: try Target("Caches/own"))?.owners == Owners("b"))
        #expect(try index.record(for: try Target("Caches/shared"))?.owners == Owners(["b", "c"]))
        #expect(try manifests(index).isEmpty)
    }
}
