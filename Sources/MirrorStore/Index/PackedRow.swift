internal import MirrorModel

/// A row of `files` that an intent has packed: the row is written from there once its file is in place.
struct PackedRow {
    /// Where the columns of `Schema.recordColumns` begin.
    let start: Int
    /// The file's stamp, in the place of the packed one.
    let stamp: FileStamp
}

extension Binder {
    /// Binds the columns of a row, as `PackedWriter` made them of a record in this process.
    ///
    /// - Parameter packed: stays where it is until the statement was run.
    mutating func add(_ row: PackedRow, in packed: UnsafeRawBufferPointer) {
        var at = row.start
        for column in 0..<Schema.recordColumnCount {
            let kind = PackedWriter.Kind(rawValue: packed[at])
            at += 1
            switch kind {
            case nil, .null: add(nil as Int64?)
            case .integer:
                add(Binder.value(ofColumn: column, row.stamp) ?? packed.integer(at: at))
                at += 8
            case .text, .blob:
                let count = Int(packed.length(at: at))
                let value = UnsafeRawBufferPointer(rebasing: packed[(at + 4)..<(at + 4 + count)])
                add(lasting: value, isText: kind == .text)
                at += 4 + count
            }
        }
    }

    /// The part of a stamp that a column holds; nil for other columns.
    private static func value(ofColumn column: Int, _ stamp: FileStamp) -> Int64? {
        switch column {
        case 2: stamp.size
        case 3: stamp.modified
        case 4: stamp.changed
        case 5: Int64(bitPattern: stamp.inode)
        default: nil
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func integer(at offset: Int) -> Int64 {
        Int64(littleEndian: loadUnaligned(fromByteOffset: offset, as: Int64.self))
    }

    fileprivate func length(at offset: Int) -> UInt32 {
        UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
