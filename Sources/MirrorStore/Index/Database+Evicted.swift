internal import MirrorModel

/// Rows of `evicted`: files that were left out of Caches or tmp for room.
extension Database {
    /// All of them, in the order of their paths' bytes.
    mutating func evictedFiles() throws(IndexError) -> [EvictedFile] {
        try all("SELECT path, size, used_at FROM evicted ORDER BY path") {
            (row: inout Row) throws(IndexError) in
            EvictedFile(
                target: try row.target(), size: try row.optionalInt(),
                lastUse: Instant(milliseconds: try row.int()))
        }
    }

    /// Remembers that a file was left out.
    mutating func put(_ file: EvictedFile) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO evicted (path, size, used_at) VALUES (?, ?, ?)") {
            $0.add(file.target.path)
            $0.add(file.size)
            $0.add(file.lastUse.milliseconds)
        }
    }

    /// Forgets that a file was left out.
    mutating func removeEvicted(_ target: Target) throws(IndexError) {
        try execute("DELETE FROM evicted WHERE path = ?") { $0.add(target.path) }
    }
}
