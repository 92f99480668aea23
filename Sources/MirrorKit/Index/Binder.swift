internal import CSQLite
internal import MirrorModel

/// Puts values into a statement's parameters, one after the other.
struct Binder {
    fileprivate(set) var result = SQLITE_OK
    private let statement: OpaquePointer
    private var index: Int32 = 0
    /// Where texts and bytes are until the statement has run; nil where it runs on after that.
    private let room: BindingRoom?
    private var used = 0

    init(statement: OpaquePointer, in room: BindingRoom? = nil) {
        self.statement = statement
        self.room = room
    }

    /// The next parameter is an integer, or NULL.
    mutating func add(_ value: Int64?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        note(sqlite3_bind_int64(statement, index, value))
    }

    /// The next parameter is text, or NULL.
    mutating func add(_ value: String?) {
        index += 1
        guard var value else { return note(sqlite3_bind_null(statement, index)) }
        value.withUTF8 { text in
            let text = UnsafeRawBufferPointer(text)
            let (kept, bytes) = (keep(text), text.baseAddress)
            let words = (kept ?? bytes)?.assumingMemoryBound(to: CChar.self)
            note(
                kept == nil
                    ? csqlite_bind_text(statement, index, words, Int32(text.count))
                    : csqlite_bind_lasting_text(statement, index, words, Int32(text.count)))
        }
    }

    /// The next parameter is bytes, or NULL.
    mutating func add(_ value: [UInt8]?) {
        index += 1
        guard let value else { return note(sqlite3_bind_null(statement, index)) }
        value.withUnsafeBytes { bytes in
            note(
                keep(bytes).map {
                    csqlite_bind_lasting_blob(statement, index, $0, Int32(bytes.count))
                } ?? csqlite_bind_blob(statement, index, bytes.baseAddress, Int32(bytes.count)))
        }
    }

    /// Copies bytes to where they stay; nil where there is no room.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard let room, let place = room.keep(bytes, at: used) else { return nil }
        used += bytes.count
        return place
    }

    private mutating func note(_ code: Int32) {
        if result == SQLITE_OK { result = code }
    }
}

/// Room for the texts and bytes of one statement, so that SQLite need not allocate each of them.
final class BindingRoom {
    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8 << 10, alignment: 16)

    deinit { bytes.deallocate() }

    /// Copies bytes behind so many others; nil when they do not fit.
    func keep(_ value: UnsafeRawBufferPointer, at position: Int) -> UnsafeRawPointer? {
        guard position + value.count <= bytes.count, let start = bytes.baseAddress else {
            return nil
        }
        let place = start + position
        if let from = value.baseAddress { place.copyMemory(from: from, byteCount: value.count) }
        return UnsafeRawPointer(place)
    }
}
