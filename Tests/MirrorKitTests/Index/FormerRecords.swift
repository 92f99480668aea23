@testable import MirrorModel
@testable import MirrorStore

/// The tables of version 6, for the tests of its migration.
enum FormerRecords {
    private static let formerColumns = """
        path, owner, size, modified, changed, inode, sha256, other_algorithm, other_digest, source,
        answered_by, entity_tag, last_modified, strong, media_type, verified, promoted_at,
        confirmed_at, fresh_until, executable
        """
    private static let formerDefinition = """
        owner TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
        changed INTEGER NOT NULL, inode INTEGER NOT NULL, sha256 BLOB NOT NULL,
        other_algorithm TEXT, other_digest BLOB, source TEXT, answered_by TEXT, entity_tag TEXT,
        last_modified INTEGER, strong INTEGER, media_type TEXT, verified TEXT NOT NULL,
        promoted_at INTEGER NOT NULL, confirmed_at INTEGER NOT NULL, fresh_until INTEGER,
        executable INTEGER NOT NULL
        """

    /// Makes the tables of rows as version 6 had them, with the rows that there are; intents of batches
    /// become rows.
    static func make(in database: inout Database) throws(IndexError) {
        let records = try database.all(FileRows.everyRecord) {
            (row: inout Row) throws(IndexError) in
            try row.record()
        }
        let intents = try IntentRows.intents(in: &database)
        try IntentRows.removeBatches(in: &database)
        try database.run(
            """
            DROP TABLE files; DROP TABLE intents;
            CREATE TABLE files (path TEXT PRIMARY KEY, \(formerDefinition)) WITHOUT ROWID;
            CREATE TABLE intents (
                id INTEGER PRIMARY KEY, kind TEXT NOT NULL, staged TEXT NOT NULL, aside TEXT,
                staged_inode INTEGER NOT NULL, replaces INTEGER NOT NULL, path TEXT NOT NULL,
                \(formerDefinition));
            ALTER TABLE parts DROP COLUMN suggested_name;
            PRAGMA user_version = 6;
            """)
        let values = Array(repeating: "?", count: 20).joined(separator: ", ")
        for record in records {
            try database.execute("INSERT INTO files (\(formerColumns)) VALUES (\(values))") {
                $0.add(former: record)
            }
        }
        for intent in intents {
            try database.execute(
                """
                INSERT INTO intents (id, kind, staged, aside, staged_inode, replaces,
                    \(formerColumns)) VALUES (?, ?, ?, ?, ?, ?, \(values))
                """
            ) {
                $0.add(intent.id == 0 ? nil : intent.id)
                $0.addIntent(
                    intent.kind, staged: intent.staged, aside: intent.aside,
                    inode: intent.stagedInode, replaces: intent.replaces)
                $0.add(former: intent.record)
            }
        }
    }
}

extension ColumnWriter where Self: ~Copyable {
    /// Adds the twenty columns that a record had until version 6.
    mutating func add(former record: IndexRecord) {
        add(record.target.path)
        add(record.owners.text)
        add(record.stamp.size)
        add(record.stamp.modified)
        add(record.stamp.changed)
        add(Int64(bitPattern: record.stamp.inode))
        add(record.sha256.bytes)
        add(record.otherDigest?.algorithm.rawValue)
        add(record.otherDigest?.bytes)
        add(record.provenance)
        add(record.validators)
        add(record.mediaType)
        add(record.verified.rawValue)
        add(record.promotedAt.milliseconds)
        add(record.confirmedAt.milliseconds)
        add(record.freshUntil?.milliseconds)
        add(record.isExecutable ? 1 : 0)
    }
}
