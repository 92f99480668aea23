internal import CSQLite
internal import MirrorModel

/// The columns of a row that show whether its file is still as mirror put it there. The bytes are
/// SQLite's own, and invalid after the cursor's next step.
struct RowProjection {
    /// The target, and a NUL behind it.
    let path: UnsafeBufferPointer<UInt8>
    let owner: UnsafeBufferPointer<UInt8>
    let stamp: FileStamp
    let sha256: UnsafeRawBufferPointer
    /// The digest of another algorithm; nil when there is none.
    let otherDigest: UnsafeRawBufferPointer?
    let isExecutable: Bool

    /// Whether a file of another stamp has the bytes of the row; it is read where it has their number.
    func hasBytes(of target: Target, _ stamp: FileStamp, in root: RootDirectory) -> Bool {
        guard stamp.size == self.stamp.size else { return false }
        let read = try? FileDigests.read(target, in: root)
        return read?.digests.first?.bytes.elementsEqual(sha256) == true
    }
}

/// A walk over rows of files in the order of their paths' bytes.
///
/// It has a connection of its own: a snapshot that later writes do not disturb. A column becomes a value
/// only when it is asked for, because a scan of a million kept files needs few of them.
struct ProjectionCursor: ~Copyable {
    private var database: Database?
    private var statement: OpaquePointer?
    private let note: (IndexError) -> Void
    /// The path of the row before, or where the walk begins.
    private var last: [UInt8]
    private var hasRow = false

    /// Rows from a path on.
    static let rows = Schema.records + " WHERE path >= ? ORDER BY path"
    /// The same, and behind the record's columns when the file was last used.
    static let rowsWithUse = """
        SELECT \(Schema.recordColumns), (SELECT used_at FROM uses WHERE uses.path = files.path)
        FROM files WHERE path >= ? ORDER BY path
        """

    /// Walks a database from a path on; nil has no rows. An error is passed to `note` before it is thrown.
    init(
        _ database: consuming Database?, _ sql: String = ProjectionCursor.rows, from start: String,
        note: @escaping (IndexError) -> Void
    ) throws(IndexError) {
        self.note = note
        self.database = database
        last = Array(start.utf8)
        statement = try self.database?.start(sql) { $0.add(start) }
    }

    /// Goes to the next row; false after the last. Throws where it does not follow the one before.
    ///
    /// SQLite looks only at the keys that it passes: where a page's keys are not in order, it delivers
    /// them as they are, and files would be taken for orphans.
    mutating func next() throws(MirrorError) -> Bool {
        guard let statement else { return false }
        do throws(IndexError) {
            guard try database?.step(statement) == true else {
                self.statement = nil
                return false
            }
            // A row without a text for its path is not sound; reading it throws.
            guard let path = text(0) else { return true }
            let order = last.withUnsafeBufferPointer { ByteOrder.compare($0, path) }
            guard order < 0 || order == 0 && !hasRow else {
                throw .damaged("rows of files are not in order")
            }
            hasRow = true
            last.removeAll(keepingCapacity: true)
            last.append(contentsOf: path)
            return true
        } catch {
            note(error)
            throw error.mirrorError
        }
    }

    /// The row that the cursor stands at; nil for one that is not sound.
    var row: RowProjection? {
        guard let statement, let path = text(0), let owner = text(1), let sha256 = blob(6),
            (2...5).allSatisfy({ sqlite3_column_type(statement, Int32($0)) == SQLITE_INTEGER })
        else { return nil }
        let stamp = FileStamp(
            size: sqlite3_column_int64(statement, 2),
            modified: sqlite3_column_int64(statement, 3),
            changed: sqlite3_column_int64(statement, 4),
            inode: UInt64(bitPattern: sqlite3_column_int64(statement, 5)))
        return RowProjection(
            path: path, owner: owner, stamp: stamp, sha256: sha256, otherDigest: blob(9),
            isExecutable: sqlite3_column_int64(statement, 7) != 0)
    }

    /// When the row's file was last used as far as the index knows, in a walk that knows uses.
    var lastUse: Instant {
        guard let statement else { return Instant(milliseconds: 0) }
        // A file without a recorded use has 0 there, which is before its promotion.
        return Instant(
            milliseconds: max(
                sqlite3_column_int64(statement, 11), sqlite3_column_int64(statement, 20)))
    }

    /// How the row's file was verified.
    var verification: Verification {
        text(10).flatMap { Verification(rawValue: String(decoding: $0, as: UTF8.self)) } ?? .none
    }

    /// The target of the row that the cursor stands at. Throws where it is none.
    func rowTarget() throws(MirrorError) -> Target {
        try read { (row: inout Row) throws(IndexError) in try row.target() }
    }

    /// The whole record that the cursor stands at. Throws where it is not sound.
    func wholeRecord() throws(MirrorError) -> IndexRecord {
        try read { (row: inout Row) throws(IndexError) in try row.record() }
    }

    private func read<Value>(
        _ body: (inout Row) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        do throws(IndexError) {
            guard let statement else { throw IndexError.damaged("a row is gone") }
            var row = Row(statement: statement)
            return try body(&row)
        } catch {
            note(error)
            throw error.mirrorError
        }
    }

    private func blob(_ column: Int32) -> UnsafeRawBufferPointer? {
        guard let statement, sqlite3_column_type(statement, column) == SQLITE_BLOB else {
            return nil
        }
        return UnsafeRawBufferPointer(
            start: sqlite3_column_blob(statement, column),
            count: Int(sqlite3_column_bytes(statement, column)))
    }

    private func text(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
        guard let statement, sqlite3_column_type(statement, column) == SQLITE_TEXT,
            let start = sqlite3_column_text(statement, column)
        else { return nil }
        return UnsafeBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}
