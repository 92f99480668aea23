internal import CSQLite
internal import MirrorModel

/// Puts values into a statement's parameters, one after another.
///
/// Text and bytes are kept in memory of the connection, so that SQLite need not copy each of them into
/// an allocation of its own.
struct Binder: ~Copyable, ColumnWriter {
    private(set) var result = SQLITE_OK
    private let statement: OpaquePointer
    private var index: Int32 = 0
    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0
    /// Whether SQLite has copies of values, which it keeps until the parameters are cleared.
    private(set) var isCopied = false

    /// Binds a statement's parameters from the first on.
    ///
    /// - Parameter memory: what nothing else uses until the statement is reset. SQLite
    ///   copies what does not fit.
    init(statement: OpaquePointer, memory: UnsafeMutableRawBufferPointer) {
        self.statement = statement
        self.memory = memory
    }

    mutating func add(_ value: Int64?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        note(sqlite3_bind_int64(statement, index, value))
    }

    mutating func add(_ value: String?) {
        index += 1
        guard var value else { return note(sqlite3_bind_null(statement, index)) }
        value.withUTF8 { bind(text: UnsafeRawBufferPointer($0)) }
    }

    mutating func add(text: UnsafeRawBufferPointer) {
        index += 1
        bind(text: text)
    }

    private mutating func bind(text: UnsafeRawBufferPointer) {
        let kept = keep(text)
        let bytes = (kept ?? text).assumingMemoryBound(to: CChar.self)
        let count = Int32(bytes.count)
        if kept != nil {
            note(sqlite3_bind_text(statement, index, bytes.baseAddress, count, nil))
        } else {
            isCopied = true
            note(csqlite_bind_text(statement, index, bytes.baseAddress, count))
        }
    }

    mutating func add(_ value: [UInt8]?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        value.withUnsafeBytes { bytes in
            if let kept = keep(bytes) {
                note(sqlite3_bind_blob(statement, index, kept.baseAddress, Int32(kept.count), nil))
            } else {
                isCopied = true
                note(csqlite_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count)))
            }
        }
    }

    /// Binds text or bytes that stay where they are until the statement was run.
    mutating func add(lasting value: UnsafeRawBufferPointer, isText: Bool) {
        index += 1
        let count = Int32(value.count)
        if isText {
            let text = value.baseAddress?.assumingMemoryBound(to: CChar.self)
            note(sqlite3_bind_text(statement, index, text, count, nil))
        } else {
            note(sqlite3_bind_blob(statement, index, value.baseAddress, count, nil))
        }
    }

    /// Copies bytes to where they stay until the parameters are cleared; nil where there is no room.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let start = memory.baseAddress, bytes.count <= memory.count - used else { return nil }
        let place = UnsafeMutableRawBufferPointer(start: start + used, count: bytes.count)
        place.copyMemory(from: bytes)
        used += bytes.count
        return UnsafeRawBufferPointer(place)
    }

    private mutating func note(_ code: Int32) {
        if result == SQLITE_OK { result = code }
    }
}
