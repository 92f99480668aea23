internal import CSQLite

/// The columns of a row that show whether its file is still as mirror put it there.
///
/// The bytes belong to SQLite, and are invalid after the cursor's next step.
struct RowProjection {
    /// The target's path; a NUL byte follows the buffer.
    let path: UnsafeBufferPointer<UInt8>
    let owner: UnsafeBufferPointer<UInt8>
    let stamp: FileStamp
    let sha256: UnsafeRawBufferPointer
    /// A digest of another algorithm than sha256. `nil` means that the row has none.
    let otherDigest: UnsafeRawBufferPointer?
    let isExecutable: Bool

    /// Whether the target's file has the bytes of the row, though its stamp differs.
    ///
    /// The file is read only if its size in the given stamp is the size in the row.
    func hasBytes(of target: Target, _ stamp: FileStamp, in root: RootDirectory) -> Bool {
        guard stamp.size == self.stamp.size else { return false }
        let read = try? FileDigests.read(target, in: root)
        return read?.digests.first?.bytes.elementsEqual(sha256) == true
    }
}

/// The rows of one index in the order of their paths' bytes, for `ProjectionCursor`.
///
/// The walk has a connection of its own, and so a snapshot that later writes do not change.
final class RowWalk {
    private var database: Database?
    /// The statement that is at the current row. `nil` after the last row.
    private(set) var statement: OpaquePointer?
    /// The path of the current row. `nil` if the path is damaged, or after the last row.
    private(set) var path: UnsafeBufferPointer<UInt8>?
    /// Says whether the row for a path counts. `nil` means that all do.
    var counts: ((UnsafeBufferPointer<UInt8>) -> Bool)?
    /// Notes an error of the index, and returns it for callers.
    let noted: (IndexError) -> MirrorError
    /// The path of the previous row; before the first row, the path at which the walk begins.
    private var last: [UInt8]
    private var hasRow = false

    /// Begins a walk at a path. A `nil` database has no rows.
    init(
        _ database: consuming Database?, _ sql: String, from start: String,
        noted: @escaping (IndexError) -> MirrorError
    ) throws(IndexError) {
        self.noted = noted
        self.database = database
        last = Array(start.utf8)
        statement = try self.database?.start(sql) { $0.add(start) }
    }

    /// Moves to the next row that counts; returns false after the last. Throws if the row's path is
    /// out of order.
    ///
    /// SQLite checks only the keys that it passes. If a page's keys are out of order, SQLite
    /// returns the rows in that order. The scan would then take files for orphans.
    func next() throws(MirrorError) -> Bool {
        repeat {
            path = nil
            guard let statement else { return false }
            do throws(IndexError) {
                guard try database?.step(statement) == true else {
                    self.statement = nil
                    return false
                }
                path = text(0, of: statement)
                // A row whose path is not text is damaged; reading the row throws later.
                guard let path else { return true }
                let order = last.withUnsafeBufferPointer { ByteOrder.compare($0, path) }
                guard order < 0 || order == 0 && !hasRow else {
                    throw .damaged("rows of files are not in order")
                }
                hasRow = true
                last.removeAll(keepingCapacity: true)
                last.append(contentsOf: path)
            } catch { throw noted(error) }
        } while path.map { counts?($0) ?? true } == false
        return true
    }

    fileprivate func text(
        _ column: Int32, of statement: OpaquePointer
    ) -> UnsafeBufferPointer<UInt8>? {
        guard sqlite3_column_type(statement, column) == SQLITE_TEXT,
            let start = sqlite3_column_text(statement, column)
        else { return nil }
        return UnsafeBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}

/// A walk over rows of files in the order of their paths' bytes, in one index or in several.
///
/// It converts a column only on request, because a scan of a million kept files needs few columns.
struct ProjectionCursor: ~Copyable {
    /// The walks that have a row, or all of them before the first row.
    private var walks: [RowWalk]
    /// The walk that is at the current row.
    private var current: RowWalk?
    /// The path of the current row of several walks.
    private var last: [UInt8] = []

    /// The SELECT statement for rows from a path on.
    static let rows = Schema.records + " WHERE path >= ? ORDER BY path"
    /// The same statement with one more column: when the file was last used.
    static let rowsWithUse = """
        SELECT \(Schema.recordColumns), (SELECT used_at FROM uses WHERE uses.path = files.path)
        FROM files WHERE path >= ? ORDER BY path
        """

    /// Merges walks. If two have a row for one path, as while shards take over rows, one counts.
    init(_ walks: [RowWalk]) { self.walks = walks }

    /// Moves to the next row; returns false after the last. Throws if the row's path is out of
    /// order.
    mutating func next() throws(MirrorError) -> Bool {
        if walks.count == 1 {
            current = walks[0]
            return try walks[0].next()
        }
        if current == nil {
            var left: [RowWalk] = []
            for walk in walks where try walk.next() { left.append(walk) }
            walks = left
        }
        while true {
            if let current, try !current.next() { walks.removeAll { $0 === current } }
            // A row without a path is damaged, so it comes first: reading it throws.
            current = walks.min { first, second in
                guard let path = first.path else { return true }
                return second.path.map { ByteOrder.compare(path, $0) < 0 } ?? false
            }
            guard let path = current?.path else { return current != nil }
            if path.elementsEqual(last) { continue }
            last.removeAll(keepingCapacity: true)
            last.append(contentsOf: path)
            return true
        }
    }

    private var statement: OpaquePointer? { current?.statement }

    /// The current row. Returns nil if the row is damaged.
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

    /// When the row's file was last used or promoted; needs a cursor made with `rowsWithUse`.
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

    /// The target of the current row. Throws if the path is not a valid target.
    func rowTarget() throws(MirrorError) -> Target {
        try read { (row: inout Row) throws(IndexError) in try row.target() }
    }

    /// The whole record of the current row. Throws if the row is damaged.
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
            throw current?.noted(error)
                ?? MirrorError(.internalError, "The index was read after its last row.")
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
        guard let current, let statement else { return nil }
        return current.text(column, of: statement)
    }
}
