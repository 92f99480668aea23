internal import MirrorModel

/// Rows of `files` and `uses`: what mirror put where.
extension Database {
    private static let selection = "SELECT \(Schema.recordColumns) FROM files"
    /// All records in the order of their paths' bytes; for `next`.
    static let everyRecord = selection + " ORDER BY path"

    /// The columns that show whether files are unchanged, from a path on, in the order of the
    /// paths' bytes.
    static let everyProjection = """
        SELECT path, owner, size, modified, changed, inode, sha256, executable, other_digest \
        FROM files WHERE path >= ? ORDER BY path
        """

    /// The same, and when each file was promoted and last used.
    static let everyRowWithUse = """
        SELECT path, owner, size, modified, changed, inode, sha256, executable, other_digest, \
        promoted_at, (SELECT used_at FROM uses WHERE uses.path = files.path) \
        FROM files WHERE path >= ? ORDER BY path
        """

    /// The same, with what each file was verified against.
    static let everyRowWithVerification = """
        SELECT path, owner, size, modified, changed, inode, sha256, executable, other_digest, \
        verified FROM files WHERE path >= ? ORDER BY path
        """
    /// The same, and behind it the whole record, whose columns cost little unless they are read.
    static let everyRowWithRecord = """
        SELECT path, owner, size, modified, changed, inode, sha256, executable, other_digest, \
        \(Schema.recordColumns) FROM files WHERE path >= ? ORDER BY path
        """
    private static let insertion = """
        INSERT OR REPLACE INTO files (\(Schema.recordColumns)) VALUES (\(Schema.recordParameters))
        """
    private static let replacement: String = {
        // The path is the first parameter.
        let columns = Schema.recordColumns.parts(at: ",").map { $0.drop { $0 == " " } }
        let values = columns.indices.dropFirst().map { "\(columns[$0]) = ?\($0 + 1)" }
        return "UPDATE files SET \(values.joined(separator: ", ")) WHERE path = ?1"
    }()
    private static let oneRecord = selection + " WHERE path = ?"
    /// How many records one statement looks for: to begin and end a statement costs more than a row.
    private static let mostAtOnce = 16
    private static let severalRecords: String = {
        let wanted = (0..<mostAtOnce).map { "(\($0), ?)" }.joined(separator: ", ")
        return """
            WITH wanted (number, target) AS (VALUES \(wanted))
            SELECT number, \(Schema.recordColumns) FROM wanted CROSS JOIN files ON path = target
            """
    }()

    /// The record of a target.
    mutating func record(for target: Target) throws(IndexError) -> IndexRecord? {
        try record(at: target.path)
    }

    /// The record of the target that a path is.
    mutating func record(at path: String) throws(IndexError) -> IndexRecord? {
        try first(Database.oneRecord) {
            $0.add(path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.record()
        }
    }

    /// The records of targets, in the order of the list.
    mutating func records(for targets: [Target]) throws(IndexError) -> [IndexRecord?] {
        var records = [IndexRecord?](repeating: nil, count: targets.count)
        for start in stride(from: 0, to: targets.count, by: Database.mostAtOnce) {
            try rows(Database.severalRecords) { binder in
                for at in start..<(start + Database.mostAtOnce) {
                    binder.add(at < targets.count ? targets[at].path : nil)
                }
            } each: { (row: inout Row) throws(IndexError) in
                let number = Int(try row.int())
                records[start + number] = try row.record()
            }
        }
        return records
    }

    /// The records of an owner, in the order of their paths' bytes.
    mutating func records(ownedBy owner: String) throws(IndexError) -> [IndexRecord] {
        try all(Database.selection + " WHERE owner = ? ORDER BY path") {
            $0.add(owner)
        } read: { (row: inout Row) throws(IndexError) in
            try row.record()
        }
    }

    /// The first targets whose paths' bytes are not less than a text's, in their order.
    mutating func targets(from path: String, limit: Int) throws(IndexError) -> [Target] {
        try all("SELECT path FROM files WHERE path >= ? ORDER BY path LIMIT ?") {
            $0.add(path)
            $0.add(Int64(limit))
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Writes a record in the place of the one that the target had, with another stamp where one is given.
    mutating func put(_ record: IndexRecord, stamp: FileStamp? = nil) throws(IndexError) {
        try execute(Database.insertion) { $0.add(record, stamp: stamp ?? record.stamp) }
    }

    /// Writes a record in the place of the one that the target has.
    ///
    /// Returns false, and writes nothing, when the target has none.
    mutating func replace(_ record: IndexRecord) throws(IndexError) -> Bool {
        try execute(Database.replacement) { $0.add(record, stamp: record.stamp) } > 0
    }

    /// Forgets a target.
    mutating func removeRecord(for target: Target) throws(IndexError) {
        try execute("DELETE FROM files WHERE path = ?") { $0.add(target.path) }
        try execute("DELETE FROM uses WHERE path = ?") { $0.add(target.path) }
    }

    /// Notes that a target was used, for eviction.
    mutating func noteUse(of target: Target, at instant: Instant) throws(IndexError) {
        try execute("INSERT OR REPLACE INTO uses (path, used_at) VALUES (?, ?)") {
            $0.add(target.path)
            $0.add(instant.milliseconds)
        }
    }
}
