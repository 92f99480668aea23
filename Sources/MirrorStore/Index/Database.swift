internal import CSQLite
internal import MirrorModel
internal import MirrorSystem

/// One connection to an SQLite database, with the statements that were prepared on it.
///
/// The connection keeps statements by their text and finalizes them when it closes, so none
/// outlives it. The connection is opened without SQLite's own mutex (`SQLITE_OPEN_NOMUTEX`).
package struct Database: ~Copyable, @unchecked Sendable {
    // A connection may move between threads as long as one thread uses it at a time. A ~Copyable
    // value has one owner, and a shared one sits in a Mutex.
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// The statements of the texts that were asked for last: a text is found by its length, and then
    /// compared, which costs less than hashing a long one.
    private var recent: [(length: Int, text: String, statement: OpaquePointer)] = []
    /// Where the values of the statement that is running are kept.
    private let values = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 8)
    /// The folder that the file's path leads through; SQLite may look paths up until it closes.
    private let folder: Descriptor?
    private let logLength = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

    /// How long a statement waits for another connection, in milliseconds.
    private static let longestWait: Int32 = 10_000
    /// How long a checkpoint holds writers back for readers, in milliseconds.
    private static let longestHold: Int32 = 100

    /// Opens a file, or `:memory:`; `flags` are those of sqlite3_open_v2.
    ///
    /// - Parameter folder: the folder whose descriptor appears in the name.
    init(_ name: String, flags: Int32, beneath folder: Descriptor? = nil) throws(IndexError) {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(
            name, &handle, flags | SQLITE_OPEN_NOMUTEX, FolderFiles.vfs)
        guard let handle else {
            values.deallocate()
            logLength.deallocate()
            throw IndexError(code: code, words: "out of memory")
        }
        guard code == SQLITE_OK else {
            // What was returned does not say whether the disk failed a read.
            let code = sqlite3_extended_errcode(handle)
            let words = String(cString: sqlite3_errmsg(handle))
            sqlite3_close_v2(handle)
            values.deallocate()
            logLength.deallocate()
            throw IndexError(code: code, words: words)
        }
        self.handle = handle
        self.folder = folder
        logLength.initialize(to: 0)
        // This hook replaces SQLite's own, which would copy the log into the database during a run
        // (sqlite3_wal_hook). `PRAGMA wal_autocheckpoint` would remove this hook.
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
        values.deallocate()
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

    /// Runs one statement, and passes its rows to a closure until that returns false.
    private mutating func stepping(
        _ sql: String, _ bind: (inout Binder) -> Void, each: (inout Row) throws(IndexError) -> Bool
    ) throws(IndexError) {
        let statement = try prepared(sql)
        var binder = Binder(statement: statement, memory: values)
        defer {
            sqlite3_reset(statement)
            // Every run binds all parameters anew, so others need not be cleared.
            if binder.isCopied { sqlite3_clear_bindings(statement) }
        }
        bind(&binder)
        try check(binder.result)
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw failure(code) }
            var row = Row(statement: statement)
            guard try each(&row) else { return }
        }
    }

    /// The first row of a statement, read by a closure; nil when there is none.
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

    /// All rows of a statement, each read by a closure.
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

    /// The one integer that a statement gives.
    mutating func number(_ sql: String) throws(IndexError) -> Int64 {
        try first(sql) { (row: inout Row) throws(IndexError) in try row.int() } ?? 0
    }

    /// A number that changes with each commit of another connection.
    mutating func changeCount() throws(IndexError) -> Int64 { try number("PRAGMA data_version") }

    /// Steps a statement whose rows are pulled one at a time; nil after the last.
    ///
    /// Only one such walk of the same text can be under way.
    mutating func next<Value>(
        _ sql: String, read: (inout Row) throws(IndexError) -> Value
    ) throws(IndexError) -> Value? {
        let statement = try prepared(sql)
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW {
            var row = Row(statement: statement)
            return try read(&row)
        }
        sqlite3_reset(statement)
        if code == SQLITE_DONE { return nil }
        throw failure(code)
    }

    /// Binds a statement, whose rows `step` then visits.
    ///
    /// The statement lives as long as the connection.
    mutating func start(
        _ sql: String, _ bind: (inout Binder) -> Void
    ) throws(IndexError) -> OpaquePointer {
        let statement = try prepared(sql)
        sqlite3_reset(statement)
        // Other statements run between two of its rows, so SQLite has to copy its values.
        var binder = Binder(statement: statement, memory: .init(start: nil, count: 0))
        bind(&binder)
        try check(binder.result)
        return statement
    }

    /// Moves to the next row of a statement; false after the last.
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
    /// A reader may hold an old state of the database for minutes. It is waited for no longer than
    /// `longestHold`: then only what it does not need is copied, and a later checkpoint does the rest.
    ///
    /// Returns the log's length in frames.
    @discardableResult
    func checkpoint(mode: Int32) throws(IndexError) -> Int32 {
        var frames: Int32 = 0
        sqlite3_busy_timeout(handle, Database.longestHold)
        defer { sqlite3_busy_timeout(handle, Database.longestWait) }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &frames, nil)
        if code & 0xFF != SQLITE_BUSY { try check(code) }
        return frames
    }

    private mutating func prepared(_ sql: String) throws(IndexError) -> OpaquePointer {
        let length = sql.utf8.count
        for at in recent.indices where recent[at].length == length && recent[at].text == sql {
            return recent[at].statement
        }
        let statement: OpaquePointer
        if let known = statements[sql] { statement = known } else { statement = try prepare(sql) }
        if recent.count == 16 { recent.removeFirst() }
        recent.append((length, sql, statement))
        return statement
    }

    private mutating func prepare(_ sql: String) throws(IndexError) -> OpaquePointer {
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
        IndexError(code: code, words: String(cString: sqlite3_errmsg(handle)))
    }
}
