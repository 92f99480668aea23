internal import MirrorModel

/// Rows of `intents`: promotions that are under way.
extension Database {
    private static let columns =
        "kind, staged, aside, staged_inode, replaces, \(Schema.recordColumns)"
    private static let insertion =
        "INSERT INTO intents (\(columns)) VALUES (?, ?, ?, ?, ?, \(Schema.recordParameters))"

    /// Writes an intent; returns its number.
    mutating func put(_ intent: PromotionIntent) throws(IndexError) -> Int64 {
        try execute(Database.insertion) {
            $0.add(intent.kind.rawValue)
            $0.add(intent.staged)
            $0.add(intent.aside)
            $0.add(Int64(bitPattern: intent.stagedInode))
            $0.add(intent.replaces ? 1 : 0)
            $0.add(intent.record, stamp: intent.record.stamp)
        }
        return lastRow
    }

    /// The intents that were not settled, in the order in which they were written.
    mutating func intents() throws(IndexError) -> [PromotionIntent] {
        try all("SELECT id, \(Database.columns) FROM intents ORDER BY id") {
            (row: inout Row) throws(IndexError) in
            let id = try row.int()
            guard let kind = PromotionIntent.Kind(rawValue: try row.text()) else {
                throw row.nonsense()
            }
            return PromotionIntent(
                id: id, kind: kind, staged: try row.placePath(), aside: try row.optionalPlacePath(),
                stagedInode: UInt64(bitPattern: try row.int()), replaces: try row.int() != 0,
                record: try row.record())
        }
    }

    /// Forgets intents that were settled.
    ///
    /// Intents of one batch have consecutive numbers; one statement removes them.
    mutating func removeIntents(_ numbers: [Int64]) throws(IndexError) {
        var rest = numbers.sorted()[...]
        while let first = rest.first {
            let end = rest.indices.first { rest[$0] - first != $0 - rest.startIndex }
            let last = rest[(end ?? rest.endIndex) - 1]
            try execute("DELETE FROM intents WHERE id BETWEEN ? AND ?") {
                $0.add(first)
                $0.add(last)
            }
            rest = rest[(end ?? rest.endIndex)...]
        }
    }

    /// Notes the path of a hidden file beside a target, before the file is made.
    mutating func noteHiddenFile(_ path: String) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO hidden_files (path) VALUES (?)") { $0.add(path) }
    }

    /// Forgets a hidden file that no longer exists.
    mutating func forgetHiddenFile(_ path: String) throws(IndexError) {
        try execute("DELETE FROM hidden_files WHERE path = ?") { $0.add(path) }
    }

    /// The hidden files that a run may have left.
    mutating func hiddenFiles() throws(IndexError) -> [String] {
        try all("SELECT path FROM hidden_files ORDER BY path") {
            (row: inout Row) throws(IndexError) in
            let path = try row.placePath()
            guard HiddenName.isHidden(FolderCache.split(path).name) else { throw row.nonsense() }
            return path
        }
    }
}

extension Row {
    /// A column that holds the path of a target or of a part, or NULL.
    mutating func optionalPlacePath() throws(IndexError) -> String? {
        guard let path = try optionalText() else { return nil }
        switch Target.flaw(in: path) {
        case nil, .partName: return path
        default: throw nonsense()
        }
    }

    mutating func placePath() throws(IndexError) -> String {
        guard let path = try optionalPlacePath() else { throw nonsense() }
        return path
    }
}
