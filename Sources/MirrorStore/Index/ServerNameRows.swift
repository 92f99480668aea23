internal import MirrorModel

/// Rows of `server_names`: the targets of files whose names a server suggested.
///
/// A name stays as long as its file is there. A file that is fetched anew may get another one.
enum ServerNameRows {
    /// The target that was fixed for a server's suggestion; nil when there was none yet.
    static func target(
        owner: String, folder: String, source: SourceKey, in database: inout Database
    ) throws(IndexError) -> Target? {
        try database.first(
            "SELECT path FROM server_names WHERE owner = ? AND folder = ? AND source = ?"
        ) {
            $0.add(owner)
            $0.add(folder)
            $0.add(source.text)
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Fixes the target for a server's suggestion.
    static func put(
        _ target: Target, owner: String, folder: String, source: SourceKey,
        in database: inout Database
    ) throws(IndexError) {
        try database.execute(
            """
            INSERT OR REPLACE INTO server_names (owner, folder, source, path) VALUES (?, ?, ?, ?)
            """
        ) {
            $0.add(owner)
            $0.add(folder)
            $0.add(source.text)
            $0.add(target.path)
        }
    }
}
