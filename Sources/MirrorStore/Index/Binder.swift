internal import CSQLite
internal import MirrorModel

/// Puts values into a statement's parameters, one after another.
struct Binder {
    fileprivate(set) var result = SQLITE_OK
    private let statement: OpaquePointer
    private var index: Int32 = 0

    init(statement: OpaquePointer) { self.statement = statement }

    /// Binds the next parameter to an integer, or to NULL.
    mutating func add(_ value: Int64?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        note(sqlite3_bind_int64(statement, index, value))
    }

    /// Binds the next parameter to text, or to NULL.
    mutating func add(_ value: String?) {
        index += 1
        guard var value else { return note(sqlite3_bind_null(statement, index)) }
        value.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) {
                note(csqlite_bind_text(statement, index, $0.baseAddress, Int32($0.count)))
            }
        }
    }

    /// Binds the next parameter to bytes, or to NULL.
    mutating func add(_ value: [UInt8]?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        value.withUnsafeBytes {
            note(csqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count)))
        }
    }

    private mutating func note(_ code: Int32) {
        if result == SQLITE_OK { result = code }
    }
}
