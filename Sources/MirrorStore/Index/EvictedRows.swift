internal import MirrorModel

/// Rows of `evicted`: files that were left out of Caches or tmp for room.
enum EvictedRows {
    /// All of them, in the order of their paths' bytes.
    static func files(in database: inout Database) throws(IndexError) -> [EvictedFile] {
        try database.all("SELECT path, size, used_at FROM evicted ORDER BY path") {
            (row: inout Row) throws(IndexError) in
            EvictedFile(
                target: try row.target(), size: try row.optionalInt(),
                lastUse: Instant(milliseconds: try row.int()))
        }
    }

    /// Remembers that a file was left out.
    static func put(_ file: EvictedFile, in database: inout Database) throws(IndexError) {
        try database.execute(
            "INSERT OR REPLACE INTO evicted (path, size, used_at) VALUES (?, ?, ?)"
        ) {
            $0.add(file.target.path)
            $0.add(file.size)
            $0.add(file.lastUse.milliseconds)
        }
    }

    /// Forgets that a file was left out.
    static func remove(_ target: Target, in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM evicted WHERE path = ?") { $0.add(target.path) }
    }
}
