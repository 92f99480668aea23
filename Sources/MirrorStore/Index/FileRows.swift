internal import MirrorModel

/// Rows of `files` and `uses`: what mirror put where.
enum FileRows {
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

    /// The record of a path.
    static let oneRecord = selection + " WHERE path = ?"

    /// The record of a target.
    static func record(
        for target: Target, in database: inout Database
    ) throws(IndexError) -> IndexRecord? {
        try record(at: target.path, in: &database)
    }

    /// The record of the target that a path is.
    static func record(
        at path: String, in database: inout Database
    ) throws(IndexError) -> IndexRecord? {
        try database.first(oneRecord) {
            $0.add(path)
        } read: { (row: inout Row) throws(IndexError) in
            try row.record()
        }
    }

    /// The records of an owner, in the order of their paths' bytes.
    static func records(
        ownedBy owner: String, in database: inout Database
    ) throws(IndexError) -> [IndexRecord] {
        try database.all(selection + " WHERE owner = ? ORDER BY path") {
            $0.add(owner)
        } read: { (row: inout Row) throws(IndexError) in
            try row.record()
        }
    }

    /// The owners and stamps of the files beneath a folder.
    static func files(
        beneath folder: String, in database: inout Database
    ) throws(IndexError) -> [(path: String, owners: Owners, stamp: FileStamp)] {
        // `0` follows `/`.
        try database.all(
            """
            SELECT path, owner, size, modified, changed, inode FROM files
            WHERE path >= ? AND path < ? ORDER BY path
            """
        ) {
            $0.add(folder + "/")
            $0.add(folder + "0")
        } read: { (row: inout Row) throws(IndexError) in
            let (path, owners) = (try row.text(), Owners(text: try row.text()))
            return (
                path, owners,
                FileStamp(
                    size: try row.int(), modified: try row.int(), changed: try row.int(),
                    inode: UInt64(bitPattern: try row.int()))
            )
        }
    }

    /// The first targets whose paths' bytes are not less than a text's, in their order.
    static func targets(from path: String, limit: Int, in database: inout Database)
        throws(IndexError) -> [Target]
    {
        try database.all("SELECT path FROM files WHERE path >= ? ORDER BY path LIMIT ?") {
            $0.add(path)
            $0.add(Int64(limit))
        } read: { (row: inout Row) throws(IndexError) in
            try row.target()
        }
    }

    /// Writes a record in the place of the one that the target had, with another stamp where one is given.
    static func put(
        _ record: IndexRecord, stamp: FileStamp? = nil, in database: inout Database
    ) throws(IndexError) {
        try database.execute(insertion) { $0.add(record, stamp: stamp ?? record.stamp) }
    }

    /// Writes packed rows in the place of those that their targets had, in this order.
    static func put(
        _ rows: [PackedRow], of packed: PackedWriter, in database: inout Database
    ) throws(IndexError) {
        try packed.withBytes { (bytes) throws(IndexError) in
            var rest = rows[...]
            while let (count, sql) = insertions.first(where: { $0.count <= rest.count }) {
                try database.execute(sql) { binder in
                    for row in rest.prefix(count) { binder.add(row, in: bytes) }
                }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Writes a record in the place of the one that the target has, with this stamp.
    ///
    /// Returns false, and writes nothing, when the target has none.
    static func replace(_ record: IndexRecord, stamp: FileStamp, in database: inout Database)
        throws(IndexError) -> Bool
    {
        try database.execute(replacement) { $0.add(record, stamp: stamp) } > 0
    }

    /// Notes in the record of a target that its source has confirmed it.
    ///
    /// Returns false, and writes nothing, when the target has none.
    static func confirm(
        _ target: Target, at now: Instant, freshUntil: Instant?, in database: inout Database
    ) throws(IndexError) -> Bool {
        try database.execute("UPDATE files SET confirmed_at = ?, fresh_until = ? WHERE path = ?") {
            $0.add(now.milliseconds)
            $0.add(freshUntil?.milliseconds)
            $0.add(target.path)
        } > 0
    }

    /// Writes who owns a target.
    static func setOwners(
        _ owners: Owners, of target: Target, in database: inout Database
    ) throws(IndexError) {
        try database.execute("UPDATE files SET owner = ? WHERE path = ?") {
            $0.add(owners.text)
            $0.add(target.path)
        }
    }

    /// Gives the row of an unchanged file the stamp that the file has now.
    static func setStamp(
        _ stamp: FileStamp, ofFileAt path: String, in database: inout Database
    ) throws(IndexError) {
        try database.execute(
            "UPDATE files SET size = ?, modified = ?, changed = ?, inode = ? WHERE path = ?"
        ) {
            $0.add(stamp.size)
            $0.add(stamp.modified)
            $0.add(stamp.changed)
            $0.add(Int64(bitPattern: stamp.inode))
            $0.add(path)
        }
    }

    /// Forgets a target.
    static func remove(_ target: Target, in database: inout Database) throws(IndexError) {
        try remove(path: target.path, in: &database)
    }

    /// Forgets the target with a path.
    static func remove(path: String, in database: inout Database) throws(IndexError) {
        try database.execute("DELETE FROM files WHERE path = ?") { $0.add(path) }
        try database.execute("DELETE FROM uses WHERE path = ?") { $0.add(path) }
    }

    /// Notes that a target was used, for eviction.
    static func noteUse(
        of target: Target, at instant: Instant, in database: inout Database
    ) throws(IndexError) {
        try database.execute("INSERT OR REPLACE INTO uses (path, used_at) VALUES (?, ?)") {
            $0.add(target.path)
            $0.add(instant.milliseconds)
        }
    }
}
