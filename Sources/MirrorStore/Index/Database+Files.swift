internal import MirrorModel

/// Rows of `files` and `uses`: what mirror put where.
extension Database {
    static let selection = "SELECT \(Schema.recordColumns) FROM files"
    /// All records in the order of their paths' bytes; for `next`.
    static let everyRecord = selection + " ORDER BY path"

    /// The columns that show whether files are unchanged, from a path on, in the order of the
    /// paths' bytes.
    static let everyProjection = """
        SELECT \(Schema.projectionColumns) FROM files WHERE path >= ? ORDER BY path
        """

    /// The same, and behind them what shows when each file was promoted and last used.
    static let everyRowWithUse = """
        SELECT \(Schema.projectionColumns), details, \
        (SELECT used_at FROM uses WHERE uses.path = files.path) \
        FROM files WHERE path >= ? ORDER BY path
        """

    /// The same, with what each file was verified against.
    static let everyRowWithVerification = """
        SELECT \(Schema.projectionColumns), details FROM files WHERE path >= ? ORDER BY path
        """
    /// Whole records, whose other columns cost little unless they are read.
    static let everyRowWithRecord = selection + " WHERE path >= ? ORDER BY path"
    private static let insertion = insertion(of: 1)
    /// To begin and end a statement costs a quarter of what a row does, so one inserts several rows.
    private static let insertions = [16, 4, 1].map { (count: $0, sql: insertion(of: $0)) }

    private static func insertion(of count: Int) -> String {
        let rows = Array(repeating: "(\(Schema.recordParameters))", count: count)
        return """
            INSERT OR REPLACE INTO files (\(Schema.recordColumns)) \
            VALUES \(rows.joined(separator: ", "))
            """
    }

    private static let replacement: String = {
        // The path is the first parameter.
        let columns = Schema.recordColumns.parts(at: ",").map { $0.drop { $0 == " " } }
        let values = columns.indices.dropFirst().map { "\(columns[$0]) = ?\($0 + 1)" }
        return "UPDATE files SET \(values.joined(separator: ", ")) WHERE path = ?1"
    }()
    private static let oneRecord = selection + " WHERE path = ?"

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

    /// Writes packed rows in the place of those that their targets had, in this order.
    mutating func put(_ rows: [PackedRow], in packed: PackedWriter) throws(IndexError) {
        try packed.withBytes { (bytes) throws(IndexError) in
            var rest = rows[...]
            while let (count, sql) = Database.insertions.first(where: { $0.count <= rest.count }) {
                try execute(sql) { binder in
                    for row in rest.prefix(count) { binder.add(row, in: bytes) }
                }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Writes a record in the place of the one that the target has, with this stamp.
    ///
    /// Returns false, and writes nothing, when the target has none.
    mutating func replace(_ record: IndexRecord, stamp: FileStamp) throws(IndexError) -> Bool {
        try execute(Database.replacement) { $0.add(record, stamp: stamp) } > 0
    }

    /// Notes in the record of a target that its source has confirmed it.
    ///
    /// Returns false, and writes nothing, when the target has none.
    mutating func confirm(
        _ target: Target, at now: Instant, freshUntil: Instant?
    ) throws(IndexError) -> Bool {
        try execute("UPDATE files SET confirmed_at = ?, fresh_until = ? WHERE path = ?") {
            $0.add(now.milliseconds)
            $0.add(freshUntil?.milliseconds)
            $0.add(target.path)
        } > 0
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
