internal import MirrorModel

/// The tables of the index, version 8.
///
/// Paths are text under SQLite's BINARY collation, which compares bytes. Times are milliseconds since
/// the epoch, but a file's own, which are nanoseconds. Queries of URLs are in none of the columns:
/// a source is stored by its key. A file's owner is the text of `Owners`. Files have no index by digest: digests come in no order, and 500,000
/// rows took 19 s and 1.7 GiB of log with one, 1.7 s and 48 MiB without.
enum Schema {
    /// What `PRAGMA user_version` says; a greater one is refused.
    static let version: Int64 = 8
    /// What `PRAGMA application_id` says: `mirr`.
    static let application: Int64 = 0x6D69_7272

    /// The columns with the facts of a version, in `files` and in `intents`. The first nine show whether
    /// a file is as it was put there; `details` is the text of `RecordDetails`.
    ///
    /// They are thirteen because up to that number SQLite compares a key without unpacking it
    /// (`sqlite3VdbeFindCompare`), and the row is the key of a table without row numbers.
    static let recordColumns = "\(projectionColumns), source, confirmed_at, fresh_until, details"
    /// How many they are.
    static let recordColumnCount = 13
    /// The first nine of them.
    static let projectionColumns =
        "path, owner, size, modified, changed, inode, sha256, executable, other_digest"
    /// One parameter for each of the columns of a record.
    static let recordParameters = Array(repeating: "?", count: recordColumnCount)
        .joined(separator: ", ")

    private static let recordDefinition = """
        owner TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
        changed INTEGER NOT NULL, inode INTEGER NOT NULL, sha256 BLOB NOT NULL,
        executable INTEGER NOT NULL, other_digest BLOB, source TEXT, confirmed_at INTEGER NOT NULL,
        fresh_until INTEGER, details TEXT NOT NULL
        """

    /// The columns of a record as expressions over the twenty that there were until version 6.
    static let formerRecordColumns = """
        \(projectionColumns), source, confirmed_at, fresh_until,
        substr(verified, 1, 1) || char(31) || promoted_at || char(31)
        || iif(answered_by IS source, '', ifnull(answered_by, '')) || char(31)
        || ifnull(entity_tag, '') || char(31) || ifnull(last_modified, '') || char(31)
        || ifnull(strong, '') || char(31) || ifnull(media_type, '') || char(31)
        || ifnull(other_algorithm, '') AS details
        """

    private static let files = "files (path TEXT PRIMARY KEY, \(recordDefinition)) WITHOUT ROWID"
    private static let intentColumns = "id, kind, staged, aside, staged_inode, replaces"
    private static let intents = """
        intents (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, staged TEXT NOT NULL, aside TEXT,
            staged_inode INTEGER NOT NULL, replaces INTEGER NOT NULL, path TEXT NOT NULL,
            \(recordDefinition))
        """

    // Ranges that further connections of a transfer fetched, beyond the milestones of its part.
    private static let extents = """
        extents (
            part TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL,
            sha256 BLOB NOT NULL, PRIMARY KEY (part, start, length)) WITHOUT ROWID
        """

    // The manifests that the root remembers, by name; `kind` says which of the places is used.
    private static let manifests = """
        manifests (
            name TEXT PRIMARY KEY, kind TEXT NOT NULL, location TEXT, beside TEXT,
            resources INTEGER, size INTEGER, modified INTEGER, changed INTEGER, inode INTEGER,
            synced_at INTEGER, copied_at INTEGER, copy_name TEXT, copy_sha256 BLOB, source TEXT,
            answered_by TEXT, entity_tag TEXT, last_modified INTEGER, strong INTEGER,
            fresh_until INTEGER) WITHOUT ROWID
        """

    // Files that were left out of Caches or tmp for room, and when they were last used.
    private static let evicted = """
        evicted (path TEXT PRIMARY KEY, size INTEGER, used_at INTEGER NOT NULL) WITHOUT ROWID
        """

    // Sets whose promotion is under way, and the orphans that leave with each. The intents of a set
    // have consecutive numbers.
    private static let sets = """
        CREATE TABLE sets (
            id INTEGER PRIMARY KEY, owners TEXT NOT NULL, is_committed INTEGER NOT NULL,
            first_intent INTEGER NOT NULL, last_intent INTEGER NOT NULL, folder TEXT, aside TEXT);
        CREATE TABLE set_removals (
            set_id INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (set_id, path)) WITHOUT ROWID;
        """

    // The intents of batches that are under way, those of each packed into one value: nobody looks for
    // one of them. The intents of a set are rows of `intents`.
    private static let batches = "batches (id INTEGER PRIMARY KEY, intents BLOB NOT NULL)"

    // Until version 2 manifests were remembered by location: of several with one name, the one that
    // was synced last keeps it.
    private static func named(manifestsOf table: String) -> String {
        """
        INSERT OR REPLACE INTO manifests (name, kind, location, synced_at, copied_at, copy_name,
            copy_sha256, source, answered_by, entity_tag, last_modified, strong, fresh_until)
        SELECT owner, kind, location, synced_at, iif(copy_name IS NULL, NULL, synced_at),
            copy_name, copy_sha256, source, answered_by, entity_tag, last_modified, strong,
            fresh_until FROM \(table) ORDER BY synced_at;
        """
    }

    /// The statements that migrate a database to the next version, by its own version.
    static let migrations: [Int64: String] = [
        1: "CREATE TABLE \(extents); PRAGMA user_version = 2;",
        2: """
        ALTER TABLE manifests RENAME TO manifests_by_location;
        CREATE TABLE \(manifests);
        \(named(manifestsOf: "manifests_by_location"))
        DROP TABLE manifests_by_location;
        PRAGMA user_version = 3;
        """,
        3: "CREATE TABLE \(evicted); PRAGMA user_version = 4;",
        4: "\(sets) PRAGMA user_version = 5;",
        // Until version 5 the intents of batches were rows too; those that are left stay where they are.
        5: "CREATE TABLE \(batches); PRAGMA user_version = 6;",
        6: """
        ALTER TABLE files RENAME TO former_files;
        CREATE TABLE \(files);
        INSERT INTO files SELECT \(formerRecordColumns) FROM former_files ORDER BY path;
        DROP TABLE former_files;
        ALTER TABLE intents RENAME TO former_intents;
        CREATE TABLE \(intents);
        INSERT INTO intents (\(intentColumns), \(recordColumns))
        SELECT \(intentColumns), \(formerRecordColumns) FROM former_intents;
        DROP TABLE former_intents;
        PRAGMA user_version = 7;
        """,
        7: "ALTER TABLE parts ADD COLUMN suggested_name TEXT; PRAGMA user_version = 8;",
    ]

    /// Tables and views in memory with which a database of an earlier version is read as one of this
    /// version, by its own version.
    static let substitutes: [Int64: String] = [
        1: "CREATE TEMP TABLE \(extents); \(manifestsInMemory) \(evictedInMemory) \(setsInMemory)",
        2: "\(manifestsInMemory) \(evictedInMemory) \(setsInMemory)",
        3: "\(evictedInMemory) \(setsInMemory)", 4: setsInMemory, 5: batchesInMemory,
        6: recordsInMemory, 7: partsInMemory,
    ]

    /// The rows of `files` and of `intents` in a database, as this version has them.
    static func records(ofVersion version: Int64) -> (files: String, intents: String) {
        let columns = version < 7 ? formerRecordColumns : recordColumns
        return ("SELECT \(columns) FROM main.files", "SELECT \(columns) FROM main.intents")
    }

    private static let recordsInMemory = """
        CREATE TEMP VIEW files AS SELECT \(formerRecordColumns) FROM main.files;
        CREATE TEMP VIEW intents AS SELECT \(intentColumns), \(formerRecordColumns)
        FROM main.intents;
        \(partsInMemory)
        """
    private static let partsInMemory =
        "CREATE TEMP VIEW parts AS SELECT *, NULL AS suggested_name FROM main.parts;"
    private static let manifestsInMemory =
        "CREATE TEMP TABLE \(manifests); \(named(manifestsOf: "main.manifests"))"
    private static let evictedInMemory = "CREATE TEMP TABLE \(evicted);"
    // No set of an earlier version is under way.
    private static let setsInMemory = """
        CREATE TEMP TABLE sets (
            id, owners, is_committed, first_intent, last_intent, folder, aside);
        CREATE TEMP TABLE set_removals (set_id, path);
        \(batchesInMemory)
        """
    private static let batchesInMemory = "CREATE TEMP TABLE \(batches); \(recordsInMemory)"

    /// Makes all tables in an empty database.
    static let creation = """
        CREATE TABLE \(files);
        CREATE TABLE uses (path TEXT PRIMARY KEY, used_at INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE parts (
            name TEXT PRIMARY KEY, target TEXT NOT NULL, kind TEXT NOT NULL, algorithm TEXT,
            digest BLOB, source TEXT, answered_by TEXT, identity_tag TEXT, identity_date INTEGER,
            total INTEGER, entity_tag TEXT, last_modified INTEGER, strong INTEGER, media_type TEXT,
            runs INTEGER NOT NULL, suggested_name TEXT) WITHOUT ROWID;
        CREATE INDEX parts_by_target ON parts (target);
        CREATE TABLE part_provenances (
            part TEXT NOT NULL, position INTEGER NOT NULL, source TEXT NOT NULL,
            answered_by TEXT NOT NULL, PRIMARY KEY (part, position)) WITHOUT ROWID;
        CREATE TABLE milestones (
            part TEXT NOT NULL, length INTEGER NOT NULL, sha256 BLOB NOT NULL,
            PRIMARY KEY (part, length)) WITHOUT ROWID;
        CREATE TABLE \(extents);
        CREATE TABLE \(intents);
        \(sets)
        CREATE TABLE \(batches);
        CREATE TABLE hidden_files (path TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE server_names (
            owner TEXT NOT NULL, folder TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,
            PRIMARY KEY (owner, folder, source)) WITHOUT ROWID;
        CREATE TABLE \(manifests);
        CREATE TABLE \(evicted);
        CREATE TABLE runs (
            id TEXT PRIMARY KEY, started_at INTEGER NOT NULL, ended_at INTEGER, exit INTEGER,
            summary TEXT) WITHOUT ROWID;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        PRAGMA application_id = \(application);
        PRAGMA user_version = \(version);
        """
}
