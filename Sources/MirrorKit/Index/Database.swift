internal import CSQLite
internal import Glibc

/// One connection to an SQLite database, with its prepared statements.
///
/// The connection keeps each statement by its text, and finalizes all of them when it closes. It is
/// opened without SQLite's own mutex (`SQLITE_OPEN_NOMUTEX`).
struct Database: ~Copyable, @unchecked Sendable {
    // A connection may move between threads as long as one thread uses it at a time. A ~Copyable
    // value has one owner, and a shared one sits in a Mutex.
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// The folder that the file's path leads through. SQLite may look up paths until it closes.
    private let folder: Descriptor?
    private let logLength = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

    /// How long a statement waits for a lock of another connection, in milliseconds.
    private static let longestWait: Int32 = 10_000
    /// How long a checkpoint that waits for readers blocks writers, in milliseconds.
    private static let longestHold: Int32 = 100

    /// Opens a file, or `:memory:`; `flags` are those of sqlite3_open_v2.
    ///
    /// - Parameter folder: the folder whose descriptor appears in the name.
    init(_ name: String, flags: Int32, beneath folder: Descriptor? = nil) throws(IndexError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, Database.vfs)
        guard let handle else {
            logLength.deallocate()
            throw IndexError(code: code, words: "out of memory")
        }
        guard code == SQLITE_OK else {
            // The result of sqlite3_open_v2 does not say whether the disk failed a read.
            let code = sqlite3_extended_errcode(handle)
            let words = String(cString: sqlite3_errmsg(handle))
            sqlite3_close_v2(handle)
            logLength.deallocate()
            throw IndexError(code: code, words: words)
        }
        self.handle = handle
        self.folder = folder
        logLength.initialize(to: 0)
        // This hook replaces SQLite's own checkpoints (sqlite3_wal_hook), which would swallow the error of
        // a failed flush. `PRAGMA wal_autocheckpoint` would remove it.
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logLength)
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Database.longestWait)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
        logLength.deallocate()
    }

    /// The pages in the write-ahead log after this connection's last commit; 0 before its first.
    ///
    /// The size of the log's file does not show this: the file keeps its length when the log
    /// restarts.
    var pagesInLog: Int { Int(logLength.pointee) }

    /// Runs statements that take no values, and ignores their rows.
    func run(_ sql: String) throws(IndexError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Runs one statement with values; returns the number of rows that it changed.
    @discardableResult
    mutating func execute(
        _ sql: String, _ bind: (inout Binder) -> Void = { _ in }
    ) throws(IndexError) -> Int {
        try rows(sql, bind) { (_: inout Row) throws(IndexError) in }
        return Int(sqlite3_changes(handle))
    }

    /// Runs one statement and passes each of its rows to a closure.
    mutating func rows(
        _ sql: String, _ bind: (inout Binder) -> Void = { _ in },
        each: (inout Row) throws(IndexError) -> Void
    ) throws(IndexError) {
        try stepping(sql, bind) { (row: inout Row) throws(IndexError) in
            try each(&row)
            return true
        }
    }

    /// Runs one statement and passes its rows to a closure until the closure returns false.
    private mutating func stepping(
        _ sql: String, _ bind: (inout Binder) -> Void, each: (inout Row) throws(IndexError) -> Bool
    ) throws(IndexError) {
        let statement = try start(sql, bind)
        defer { sqlite3_reset(statement) }
        while try step(statement) {
            var row = Row(statement: statement)
            guard try each(&row) else { return }
        }
    }

    /// The first row of a statement, as a closure reads it. Returns nil if there is no row.
    mutating func first<Value>(
        _ sql: String, _ bind: (inout Binder) -> Void = { _ in },
        read: (inout Row) throws(IndexError) -> Value
    ) throws(IndexError) -> Value? {
        var value: Value?
        try stepping(sql, bind) { (row: inout Row) throws(IndexError) in
            value = try read(&row)
            return false
        }
        return value
    }

    /// All rows of a statement, as a closure reads them.
    mutating func all<Value>(
        _ sql: String, _ bind: (inout Binder) -> Void = { _ in },
        read: (inout Row) throws(IndexError) -> Value
    ) throws(IndexError) -> [Value] {
        var values: [Value] = []
        try rows(sql, bind) { (row: inout Row) throws(IndexError) in
            values.append(try read(&row))
        }
        return values
    }

    /// The integer in the first row of a statement. Returns 0 if there is no row.
    mutating func number(_ sql: String) throws(IndexError) -> Int64 {
        try first(sql) { (row: inout Row) throws(IndexError) in try row.int() } ?? 0
    }

    /// A number that changes with each commit of another connection.
    mutating func changeCount() throws(IndexError) -> Int64 { try number("PRAGMA data_version") }

    /// Makes a function that SQL of this connection can call with a text and a truth value
    /// (sqlite3_create_function_v2).
    func define(
        _ name: String, _ body: @escaping (UnsafeBufferPointer<UInt8>, Bool) -> Bool
    ) throws(IndexError) {
        try check(
            sqlite3_create_function_v2(
                handle, name, 2, SQLITE_UTF8, Unmanaged.passRetained(SQLFunction(body)).toOpaque(),
                { context, _, values in
                    guard let values, let own = sqlite3_user_data(context) else { return }
                    let function = Unmanaged<SQLFunction>.fromOpaque(own).takeUnretainedValue()
                    let text = UnsafeBufferPointer(
                        start: sqlite3_value_text(values[0]),
                        count: Int(sqlite3_value_bytes(values[0])))
                    let result = function.body(text, sqlite3_value_int(values[1]) != 0)
                    sqlite3_result_int(context, result ? 1 : 0)
                }, nil, nil,
                { own in own.map { Unmanaged<SQLFunction>.fromOpaque($0).release() } }))
    }

    /// Binds the values of a statement; `step` then visits its rows.
    ///
    /// The statement lives as long as the connection.
    mutating func start(
        _ sql: String, _ bind: (inout Binder) -> Void
    ) throws(IndexError) -> OpaquePointer {
        let statement = try prepared(sql)
        sqlite3_reset(statement)
        var binder = Binder(statement: statement)
        bind(&binder)
        try check(binder.result)
        return statement
    }

    /// Moves to the next row of a statement. Returns false after the last row.
    func step(_ statement: OpaquePointer) throws(IndexError) -> Bool {
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return true }
        sqlite3_reset(statement)
        if code == SQLITE_DONE { return false }
        throw failure(code)
    }

    /// The number of the row that was inserted last.
    var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Copies the write-ahead log into the database file (sqlite3_wal_checkpoint_v2).
    ///
    /// A reader may hold an old state of the database for minutes. The checkpoint waits for readers
    /// at most `longestHold`. It then copies only what no reader needs, and a later checkpoint
    /// copies the rest.
    func checkpoint(mode: Int32) throws(IndexError) {
        sqlite3_busy_timeout(handle, Database.longestHold)
        defer { sqlite3_busy_timeout(handle, Database.longestWait) }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
        if code & 0xFF != SQLITE_BUSY { try check(code) }
    }

    private mutating func prepared(_ sql: String) throws(IndexError) -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil))
        guard let statement else {
            throw IndexError.database(code: SQLITE_MISUSE, words: "an empty statement")
        }
        statements[sql] = statement
        return statement
    }

    private func check(_ code: Int32) throws(IndexError) {
        if code != SQLITE_OK { throw failure(code) }
    }

    private func failure(_ code: Int32) -> IndexError {
        if code == SQLITE_IOERR | 4 << 8 {
            // SQLITE_IOERR_FSYNC
            let number = sqlite3_system_errno(handle)
            return .unflushed(
                Errno(
                    number: number == 0 ? EIO : number, call: "fdatasync",
                    path: IndexFile.name))
        }
        return IndexError(code: code, words: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A closure as a function of SQL; the connection keeps it.
private final class SQLFunction {
    let body: (UnsafeBufferPointer<UInt8>, Bool) -> Bool
    init(_ body: @escaping (UnsafeBufferPointer<UInt8>, Bool) -> Bool) { self.body = body }
}

/// Puts values into a statement's parameters, one after another. SQLite copies text and bytes.
struct Binder {
    /// The first result that was not SQLITE_OK, else SQLITE_OK.
    private(set) var result = SQLITE_OK
    private let statement: OpaquePointer
    private var index: Int32 = 0

    /// Begins with the statement's first parameter.
    init(statement: OpaquePointer) { self.statement = statement }

    /// Binds an integer; nil becomes NULL.
    mutating func add(_ value: Int64?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        note(sqlite3_bind_int64(statement, index, value))
    }

    /// Binds text; nil becomes NULL.
    mutating func add(_ value: String?) {
        index += 1
        guard var value else { return note(sqlite3_bind_null(statement, index)) }
        let code = value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                csqlite_bind_text(statement, index, $0.baseAddress, Int32($0.count))
            }
        }
        note(code)
    }

    /// Binds bytes; nil becomes NULL.
    mutating func add(_ value: [UInt8]?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        let code = value.withUnsafeBytes {
            csqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
        }
        note(code)
    }

    private mutating func note(_ code: Int32) {
        if result == SQLITE_OK { result = code }
    }
}

/// Reads the columns of a row, one after another. A value of the wrong kind means a damaged index.
struct Row {
    private let statement: OpaquePointer
    private var index: Int32 = -1

    /// Begins with the row's first column.
    init(statement: OpaquePointer) { self.statement = statement }

    /// Reads the next column as an integer. Returns nil for NULL.
    mutating func optionalInt() throws(IndexError) -> Int64? {
        switch advance() {
        case SQLITE_INTEGER: return sqlite3_column_int64(statement, index)
        case SQLITE_NULL: return nil
        default: throw nonsense()
        }
    }

    /// Reads the next column as valid UTF-8 text. Returns nil for NULL.
    mutating func optionalText() throws(IndexError) -> String? {
        switch advance() {
        case SQLITE_NULL: return nil
        case SQLITE_TEXT:
            let start = sqlite3_column_text(statement, index)
            let count = start == nil ? 0 : Int(sqlite3_column_bytes(statement, index))
            guard let text = String(sound: UnsafeBufferPointer(start: start, count: count)) else {
                throw nonsense()
            }
            return text
        default: throw nonsense()
        }
    }

    /// Reads the next column as bytes. Returns nil for NULL.
    mutating func optionalBlob() throws(IndexError) -> [UInt8]? {
        switch advance() {
        case SQLITE_NULL: return nil
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(statement, index)
            let count = Int(sqlite3_column_bytes(statement, index))
            return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
        default: throw nonsense()
        }
    }

    /// Reads the next column as an integer. Throws for NULL.
    mutating func int() throws(IndexError) -> Int64 {
        guard let value = try optionalInt() else { throw nonsense() }
        return value
    }

    /// Reads the next column as text. Throws for NULL.
    mutating func text() throws(IndexError) -> String {
        guard let value = try optionalText() else { throw nonsense() }
        return value
    }

    /// Reads the next column as bytes. Throws for NULL.
    mutating func blob() throws(IndexError) -> [UInt8] {
        guard let value = try optionalBlob() else { throw nonsense() }
        return value
    }

    /// The error for an impossible value in the column that was read last.
    func nonsense() -> IndexError {
        let name = sqlite3_column_name(statement, index).map { String(cString: $0) } ?? "?"
        return .damaged("a row has no sound \(name)")
    }

    private mutating func advance() -> Int32 {
        index += 1
        return sqlite3_column_type(statement, index)
    }
}
