internal import MirrorModel
internal import MirrorSystem

/// Rows of `server_names`: the targets of files whose names a server chose.
///
/// The first success fixes a name. It stays when the file is removed, evicted or fetched anew, until
/// its manifest is forgotten.
///
/// Before that success a name is a proposal, a row of `meta` that is written together with the
/// intent of the promotion. Both are settled together: by the promotion, which fixes the name in the
/// transaction that writes the file's row, or after a crash by the recovery. So no file that a crash
/// left at its final name is without a remembered name, for which the next run would fetch a second
/// file. And no name is fixed by a promotion that failed.
enum ServerNameRows {
    private static let prefix = "name "
    private static let separator: Character = "\u{1F}"

    /// The target that was fixed; nil where there was no success yet.
    static func target(
        of key: ServerNameKey, in database: inout Database
    ) throws(IndexError) -> Target? {
        try database.first(
            "SELECT path FROM server_names WHERE owner = ? AND folder = ? AND source = ?"
        ) {
            $0.add(key.owner)
            $0.add(key.folder)
            $0.add(SourceKey(key.source).text)
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Fixes a target; one that was fixed before stays.
    static func fix(
        _ target: Target, for key: ServerNameKey, in database: inout Database
    ) throws(IndexError) {
        try fix(target, owner: key.owner, SourceKey(key.source), in: &database)
    }

    private static func fix(
        _ target: Target, owner: String, _ source: SourceKey, in database: inout Database
    ) throws(IndexError) {
        try database.execute(
            "INSERT OR IGNORE INTO server_names (owner, folder, source, path) VALUES (?, ?, ?, ?)"
        ) {
            $0.add(owner)
            $0.add(target.folder)
            $0.add(source.text)
            $0.add(target.path)
        }
    }

    /// Notes the target that a file is to get, if a server chose it.
    static func propose(_ landing: Landing, in database: inout Database) throws(IndexError) {
        guard let key = landing.serverName else { return }
        try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
            $0.add(prefix + landing.target.path)
            $0.add("\(SourceKey(key.source).text)\(separator)\(key.owner)")
        }
    }

    /// Forgets a proposal, if there is one; a target that has its file now is fixed.
    static func settle(
        _ target: Target, isThere: Bool, in database: inout Database
    ) throws(IndexError) {
        let proposal = try database.first("SELECT value FROM meta WHERE key = ?") {
            $0.add(prefix + target.path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.text()
        }
        guard let proposal else { return }
        let fields = proposal.split(separator: separator, maxSplits: 1)
        if isThere, fields.count == 2 {
            try fix(
                target, owner: String(fields[1]), SourceKey(text: String(fields[0])),
                in: &database)
        }
        try database.execute("DELETE FROM meta WHERE key = ?") { $0.add(prefix + target.path) }
    }
}
