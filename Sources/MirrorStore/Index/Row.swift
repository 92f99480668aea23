internal import CSQLite
internal import MirrorModel

/// Reads the columns of a row, one after the other; nonsense in one is a damaged index.
struct Row: ColumnReader {
    private let statement: OpaquePointer
    private var index: Int32
    /// The column that was read last. Nobody else uses the connection meanwhile, so it needs no
    /// protection (sqlite3_value); one call for it costs less than one for each question.
    private var value: OpaquePointer?

    /// Reads from the first column on.
    init(statement: OpaquePointer) {
        self.statement = statement
        index = -1
    }

    mutating func optionalInt() throws(IndexError) -> Int64? {
        switch advance() {
        case SQLITE_INTEGER: return sqlite3_value_int64(value)
        case SQLITE_NULL: return nil
        default: throw nonsense()
        }
    }

    mutating func optionalText(known: String?) throws(IndexError) -> String? {
        switch advance() {
        case SQLITE_NULL: return nil
        case SQLITE_TEXT:
            let start = sqlite3_value_text(value)
            let count = Int(sqlite3_value_bytes(value))
            let bytes = UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
            if let known, PathText.hasBytes(known, bytes) { return known }
            guard let text = String(sound: bytes) else { throw nonsense() }
            return text
        default: throw nonsense()
        }
    }

    mutating func withText<Value>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) throws(IndexError) -> Value {
        guard advance() == SQLITE_TEXT, let start = sqlite3_value_text(value) else {
            throw nonsense()
        }
        let count = Int(sqlite3_value_bytes(value))
        return body(UnsafeBufferPointer(start: start, count: count))
    }

    /// Skips the next column, text in sound UTF-8 that may have to meet a condition; false for
    /// NULL.
    mutating func checkOptionalText(
        _ isSound: (UnsafeBufferPointer<UInt8>) -> Bool = { _ in true }
    ) throws(IndexError) -> Bool {
        switch advance() {
        case SQLITE_NULL: return false
        case SQLITE_TEXT:
            let start = sqlite3_value_text(value)
            let count = Int(sqlite3_value_bytes(value))
            let bytes = UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
            guard String.isSound(bytes), isSound(bytes) else { throw nonsense() }
            return true
        default: throw nonsense()
        }
    }

    /// Skips the next column, text that may have to meet a condition.
    mutating func checkText(
        _ isSound: (UnsafeBufferPointer<UInt8>) -> Bool = { _ in true }
    ) throws(IndexError) {
        guard try checkOptionalText(isSound) else { throw nonsense() }
    }

    /// Skips the next column, which holds this many bytes.
    mutating func checkBlob(count: Int) throws(IndexError) {
        guard advance() == SQLITE_BLOB, Int(sqlite3_value_bytes(value)) == count else {
            throw nonsense()
        }
    }

    mutating func optionalBlob() throws(IndexError) -> [UInt8]? {
        switch advance() {
        case SQLITE_NULL: return nil
        case SQLITE_BLOB:
            let count = Int(sqlite3_value_bytes(value))
            return [UInt8](
                UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: count))
        default: throw nonsense()
        }
    }

    mutating func skip() { index += 1 }

    func nonsense() -> IndexError {
        let name = sqlite3_column_name(statement, index).map { String(cString: $0) } ?? "?"
        return .damaged("a row has no sound \(name)")
    }

    private mutating func advance() -> Int32 {
        index += 1
        value = sqlite3_column_value(statement, index)
        return sqlite3_value_type(value)
    }
}
