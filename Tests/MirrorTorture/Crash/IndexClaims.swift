internal import CSQLite
internal import MirrorTestSupport
internal import Glibc

/// What an index says of final names, read with SQLite alone from a copy of its files.
struct IndexClaims {
    /// One row: a target and the bytes that it is said to have.
    struct Claim {
        let path: String
        let size: Int
        let sha256: String
    }

    /// Files that are said to be there.
    private(set) var files: [Claim] = []
    /// Promotions that were under way: the bytes that a target may have got meanwhile.
    private(set) var intents: [Claim] = []
    /// Why the index cannot be read; nil when it can, or when there is none.
    private(set) var flaw: String?

    /// Copies the index of a root, with its log, and reads it.
    init(of root: Folder) throws {
        let copy = try Folder.temporary(in: Folder.memory)
        defer { copy.remove() }
        for suffix in ["", "-wal"] {
            guard let bytes = root.read(".mirror/index.sqlite" + suffix) else { continue }
            try copy.write("index.sqlite" + suffix, bytes)
        }
        guard copy.size("index.sqlite") ?? 0 > 0 else { return }
        var database: OpaquePointer?
        defer { sqlite3_close(database) }
        guard sqlite3_open(copy.full("index.sqlite"), &database) == SQLITE_OK else {
            flaw = "the index cannot be opened"
            return
        }
        let words = IndexClaims.rows(database, "PRAGMA integrity_check") { text($0, 0) }
        guard words == ["ok"] else {
            flaw = "the index is damaged: \(words.prefix(3))"
            return
        }
        files = IndexClaims.claims(database, "files")
        intents = IndexClaims.claims(database, "intents")
    }

    private static func claims(_ database: OpaquePointer?, _ table: String) -> [Claim] {
        rows(database, "SELECT path, size, hex(sha256) FROM \(table)") {
            Claim(
                path: text($0, 0), size: Int(sqlite3_column_int64($0, 1)),
                sha256: text($0, 2).lowercased())
        }
    }

    private static func rows<Value>(
        _ database: OpaquePointer?, _ sql: String, _ read: (OpaquePointer?) -> Value
    ) -> [Value] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        // No such table: a crash came before the tables were made.
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { return [] }
        var values: [Value] = []
        while sqlite3_step(statement) == SQLITE_ROW { values.append(read(statement)) }
        return values
    }
}

private func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
}
