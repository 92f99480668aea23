internal import MirrorModel

/// Rows of `hidden_files`: files beside targets that a run makes for a moment, and may leave there.
enum HiddenFileRows {
    /// Notes the path of a hidden file beside a target, before the file is made.
    static func note(_ path: String, in database: inout Database) throws(IndexError) {
        try database.execute("INSERT OR REPLACE INTO hidden_files (path) VALUES (?)") {
            $0.add(path)
        }
    }

    /// Forgets a hidden file that no longer exists.
    static func forget(_ path: String, in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM hidden_files WHERE path = ?") { $0.add(path) }
    }

    /// The hidden files that a run may have left.
    static func paths(in database: inout Database) throws(IndexError) -> [String] {
        try database.all("SELECT path FROM hidden_files ORDER BY path") {
            (row: inout Row) throws(IndexError) in
            let path = try row.placePath()
            guard HiddenName.isHidden(FolderCache.split(path).name) else { throw row.nonsense() }
            return path
        }
    }
}
