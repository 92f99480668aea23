internal import MirrorModel

/// All records of an index, pulled one at a time.
package struct RecordCursor: ~Copyable {
    private var database: Database?
    private let note: (IndexError) -> Void
    private var order = AscendingPaths()

    /// Walks a database; an error is reported to `note` before it is thrown to the caller.
    init(_ database: consuming Database?, note: @escaping (IndexError) -> Void) {
        self.database = database
        self.note = note
    }

    /// The next record; nil after the last.
    mutating func next() throws(IndexError) -> IndexRecord? {
        do throws(IndexError) {
            let record = try database?.next(FileRows.everyRecord) {
                (row: inout Row) throws(IndexError) in try row.record()
            }
            if let record {
                try Array(record.target.path.utf8).withUnsafeBufferPointer {
                    (path) throws(IndexError) in try order.advance(to: path)
                }
            }
            return record
        } catch {
            note(error)
            throw error
        }
    }
}
