internal import CSQLite
package import MirrorModel

/// The columns of a row that show whether its file is still as mirror put it there. The bytes are
/// SQLite's own, and invalid after the cursor's next step.
package struct RowProjection {
    /// The target, and a NUL behind it.
    package let path: UnsafeBufferPointer<UInt8>
    package let owner: UnsafeBufferPointer<UInt8>
    package let stamp: FileStamp
    package let sha256: UnsafeRawBufferPointer
    /// The digest of another algorithm; nil when there is none.
    package let otherDigest: UnsafeRawBufferPointer?
    package let isExecutable: Bool
}

/// A walk over the rows of an index, in the order of their paths' bytes, that decodes a column only
/// when it is asked for.
package struct ProjectionCursor: ~Copyable {
    private var database: Database?
    private var statement: OpaquePointer?
    private let note: (IndexError) -> Void
    /// Whether the rows have the columns of the whole record.
    private let hasRecord: Bool
    private var known = KnownTexts()
    private var order: AscendingPaths

    /// Walks a database from a path on; an error is reported to `note` before it is thrown to the
    /// caller.
    package init(
        _ database: consuming Database?, _ sql: String = FileRows.everyProjection,
        from start: String, note: @escaping (IndexError) -> Void
    ) throws(IndexError) {
        self.note = note
        self.database = database
        order = AscendingPaths(from: start)
        hasRecord = sql == FileRows.everyRowWithRecord
        do throws(IndexError) {
            statement = try self.database?.start(sql) { $0.add(start) }
        } catch {
            note(error)
            throw error
        }
    }

    /// Goes to the next row; false after the last. Throws `damaged` for one that is not in order.
    package mutating func advance() throws(IndexError) -> Bool {
        guard let statement else { return false }
        do throws(IndexError) {
            guard try database?.step(statement) == true else {
                self.statement = nil
                return false
            }
            // A row without a text for its path is not sound, and whoever reads it learns that.
            if let path = text(statement, 0) { try order.advance(to: path) }
            return true
        } catch {
            note(error)
            throw error
        }
    }

    /// The row that the cursor stands at; nil for one that is not sound.
    package var row: RowProjection? {
        guard let statement, let path = text(statement, 0), let owner = text(statement, 1),
            sqlite3_column_type(statement, 6) == SQLITE_BLOB,
            (2...5).allSatisfy({ sqlite3_column_type(statement, Int32($0)) == SQLITE_INTEGER })
        else { return nil }
        let stamp = FileStamp(
            size: sqlite3_column_int64(statement, 2),
            modified: sqlite3_column_int64(statement, 3),
            changed: sqlite3_column_int64(statement, 4),
            inode: UInt64(bitPattern: sqlite3_column_int64(statement, 5)))
        return RowProjection(
            path: path, owner: owner, stamp: stamp, sha256: blob(statement, 6),
            otherDigest: sqlite3_column_type(statement, 8) == SQLITE_BLOB
                ? blob(statement, 8) : nil,
            isExecutable: sqlite3_column_int64(statement, 7) != 0)
    }

    /// When the file of the row was last used as far as the index knows, in a walk over
    /// `FileRows.everyRowWithUse`.
    package var lastUse: Instant {
        guard let statement else { return Instant(milliseconds: 0) }
        let promoted = text(statement, 9).flatMap(RecordDetails.promotedAt(in:))
        // 0, for a file without a recorded use, is before every promotion.
        let used = Instant(milliseconds: sqlite3_column_int64(statement, 10))
        return max(promoted ?? used, used)
    }

    /// How the row's file was verified, in a walk over `FileRows.everyRowWithVerification`.
    package var verification: Verification {
        guard let statement else { return .none }
        return text(statement, 9).flatMap(RecordDetails.verified(in:)) ?? .none
    }

    /// The target of the row that the cursor stands at. Throws where it is none.
    package func target() throws(IndexError) -> Target {
        do throws(IndexError) {
            guard let statement else { throw IndexError.damaged("a row is gone") }
            var row = Row(statement: statement)
            return try row.target()
        } catch {
            note(error)
            throw error
        }
    }

    /// The whole record that the cursor stands at. Throws where it is not sound.
    package mutating func record() throws(IndexError) -> IndexRecord {
        do throws(IndexError) {
            guard let statement else { throw IndexError.damaged("a row is gone") }
            var row = Row(statement: statement)
            if hasRecord { return try row.record(known: &known) }
            let path = try row.text()
            let record = try database?.first(FileRows.oneRecord) {
                $0.add(path)
            } read: { (row: inout Row) throws(IndexError) in
                try row.record()
            }
            guard let record else { throw IndexError.damaged("a row is gone") }
            return record
        } catch {
            note(error)
            throw error
        }
    }

    private func blob(_ statement: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: sqlite3_column_blob(statement, column),
            count: Int(sqlite3_column_bytes(statement, column)))
    }

    private func text(
        _ statement: OpaquePointer, _ column: Int32
    ) -> UnsafeBufferPointer<UInt8>? {
        guard sqlite3_column_type(statement, column) == SQLITE_TEXT,
            let start = sqlite3_column_text(statement, column)
        else { return nil }
        let count = Int(sqlite3_column_bytes(statement, column))
        return UnsafeBufferPointer(start: start, count: count)
    }
}

extension ProjectionCursor {
    /// Goes to the next row; false after the last.
    package mutating func next() throws(MirrorError) -> Bool {
        do throws(IndexError) { return try advance() } catch { throw error.mirrorError }
    }

    /// The target of the row that the cursor stands at.
    package func rowTarget() throws(MirrorError) -> Target {
        do throws(IndexError) { return try target() } catch { throw error.mirrorError }
    }

    /// The whole record that the cursor stands at.
    package mutating func wholeRecord() throws(MirrorError) -> IndexRecord {
        do throws(IndexError) { return try record() } catch { throw error.mirrorError }
    }
}
