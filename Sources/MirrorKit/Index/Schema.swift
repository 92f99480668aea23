internal import CSQLite

/// The tables of the index.
///
/// Paths are text under SQLite's BINARY collation, which compares bytes. Times are milliseconds
/// since the epoch, except a file's own times, which are nanoseconds. No column has the query of a
/// URL: a source is stored by its key. A file's owner is the text of `Owners`.
///
/// Files have no index by digest, because digests arrive in no order. With such an index, 500,000
/// rows took 19 s and 1.7 GiB of log; without, 1.7 s and 48 MiB.
enum Schema {
    /// The value of `PRAGMA user_version`. An index with a greater one is refused.
    static let version: Int64 = 1
    /// The value of `PRAGMA application_id`: `mirX`.
    static let application: Int64 = 0x6D69_7258
    /// The application id of indexes before the first stable version: `mirr`.
    static let formerApplication: Int64 = 0x6D69_7272

    /// The columns of an `IndexRecord`, in `files` and in `intents`.
    ///
    /// The first ten show whether a file is as mirror put it there.
    static let recordColumns = """
        path, owner, size, modified, changed, inode, sha256, executable, other_algorithm, \
        other_digest, verified, promoted_at, confirmed_at, fresh_until, source, answered_by, \
        entity_tag, last_modified, strong, media_type
        """
    /// One parameter for each of the columns of a record.
    static let recordParameters = Array(repeating: "?", count: 20).joined(separator: ", ")

    /// The SELECT statement for records; a condition or an order may follow.
    static let records = "SELECT \(recordColumns) FROM files"

    private static let recordDefinition = """
        owner TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
        changed INTEGER NOT NULL, inode INTEGER NOT NULL, sha256 BLOB NOT NULL,
        executable INTEGER NOT NULL, other_algorithm TEXT, other_digest BLOB,
        verified TEXT NOT NULL, promoted_at INTEGER NOT NULL, confirmed_at INTEGER NOT NULL,
        fresh_until INTEGER, source TEXT, answered_by TEXT, entity_tag TEXT, last_modified INTEGER,
        strong INTEGER, media_type TEXT
        """

    /// Makes all tables in an empty database.
    static let creation = """
        CREATE TABLE files (path TEXT PRIMARY KEY, \(recordDefinition)) WITHOUT ROWID;
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
        -- Ranges that further connections of a transfer fetched, beyond the milestones of its part.
        CREATE TABLE extents (
            part TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL,
            sha256 BLOB NOT NULL, PRIMARY KEY (part, start, length)) WITHOUT ROWID;
        -- Promotions under way. The intents of a set have consecutive numbers.
        CREATE TABLE intents (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, staged TEXT NOT NULL, aside TEXT,
            staged_inode INTEGER NOT NULL, replaces INTEGER NOT NULL, path TEXT NOT NULL,
            \(recordDefinition));
        -- Sets whose promotion is under way, and the orphans that leave with each.
        CREATE TABLE sets (
            id INTEGER PRIMARY KEY, owners TEXT NOT NULL, is_committed INTEGER NOT NULL,
            first_intent INTEGER NOT NULL, last_intent INTEGER NOT NULL, folder TEXT, aside TEXT);
        CREATE TABLE set_removals (
            set_id INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (set_id, path)) WITHOUT ROWID;
        CREATE TABLE hidden_files (path TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE server_names (
            owner TEXT NOT NULL, folder TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,
            PRIMARY KEY (owner, folder, source)) WITHOUT ROWID;
        -- The manifests that the root remembers; `kind` says which of the places is used. `hint` has
        -- how a list is read, and the selection.
        CREATE TABLE manifests (
            name TEXT PRIMARY KEY, kind TEXT NOT NULL, location TEXT, beside TEXT,
            resources INTEGER, size INTEGER, modified INTEGER, changed INTEGER, inode INTEGER,
            synced_at INTEGER, copied_at INTEGER, copy_name TEXT, copy_sha256 BLOB, source TEXT,
            answered_by TEXT, entity_tag TEXT, last_modified INTEGER, strong INTEGER,
            fresh_until INTEGER, hint TEXT NOT NULL) WITHOUT ROWID;
        -- Files that were left out of Caches or tmp for room, and when they were last used.
        CREATE TABLE evicted (
            path TEXT PRIMARY KEY, size INTEGER, used_at INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE runs (
            id TEXT PRIMARY KEY, started_at INTEGER NOT NULL, ended_at INTEGER, exit INTEGER,
            summary TEXT) WITHOUT ROWID;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        PRAGMA application_id = \(application);
        PRAGMA user_version = \(version);
        """
}

/// Checks a database for damage with SQLite's own check, and reads the rows that runs rely on.
extension Database {
    /// The size limit in bytes for a full read at opening: some 450 rows, in less than a
    /// millisecond.
    static let smallEnoughToVerify: Int64 = 128 << 10

    /// Reads a small database in full, so that damage is found while it can still be moved aside.
    ///
    /// A larger database is not read here; damage is found when its rows are needed. Damage found
    /// while a plan is made makes the session plan again. Damage found later ends the run and is
    /// marked for the next run. Throws `damaged`, or the disk's read error.
    mutating func verify(fileSize: Int64?) throws(IndexError) {
        guard let fileSize, (1...Database.smallEnoughToVerify).contains(fileSize) else { return }
        try runCheck("quick_check")
        try readRows()
    }

    /// Reads everything, and compares tables with their indexes.
    mutating func verifyAll() throws(IndexError) {
        try runCheck("integrity_check")
        try readRows()
    }

    /// Runs an integrity pragma. Throws `damaged` if the pages are inconsistent.
    ///
    /// Throws the disk's error if a page cannot be read. SQLite reports both cases in the same
    /// words, and a new index cures only damage.
    mutating func runCheck(_ pragma: String) throws(IndexError) {
        let words =
            try first("PRAGMA \(pragma)(1)") {
                (row: inout Row) throws(IndexError) in try row.text()
            } ?? "no answer to \(pragma)"
        if words == "ok" { return }
        for code in IndexError.unreadable where words.contains("error code=\(code)") {
            throw .database(code: code, words: "disk I/O error")
        }
        throw .damaged(faults(in: words))
    }

    /// The damage that a pragma reports, in one line, without the line that names the database.
    private func faults(in words: String) -> String {
        words.split(separator: "\n").filter { !$0.hasPrefix("***") }.joined(separator: "; ")
    }

    private mutating func readRows() throws(IndexError) {
        try rows(Schema.records + " ORDER BY path") { (row: inout Row) throws(IndexError) in
            _ = try row.record()
        }
        _ = try parts()
        _ = try intents()
        _ = try hiddenFiles()
        _ = try manifests()
        _ = try runs()
    }
}
