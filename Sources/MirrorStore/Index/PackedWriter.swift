/// Packs the columns of several rows into one value, for `PackedReader`.
///
/// The first byte is the version of the form: 2, and 1 where records have the columns that they had until
/// version 6 of the index. Of each column follow its kind, one byte, and then nothing
/// for NULL; eight bytes for an integer; four bytes for the length of text or bytes, and they
/// themselves. Numbers are little-endian.
struct PackedWriter: ColumnWriter {
    /// The version that this writer makes.
    static let version: UInt8 = 2

    /// The kind of a column.
    enum Kind: UInt8 { case null, integer, text, blob }

    /// What is packed, and room behind it: to fill room costs less than to append.
    private var room: [UInt8]
    /// How many bytes are packed; the next column begins there.
    private(set) var count = 1

    /// Has room for so many bytes at first.
    init(room count: Int = 0) {
        room = Array(repeating: 0, count: max(count, 64))
        room[0] = PackedWriter.version
    }

    /// What is packed.
    var bytes: [UInt8] { Array(room.prefix(count)) }

    /// Passes what is packed.
    func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(IndexError) -> Value
    ) throws(IndexError) -> Value {
        try room.withUnsafeBufferPointer { (room) throws(IndexError) in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(room)[..<count]))
        }
    }

    mutating func add(_ value: Int64?) {
        guard let value else { return addNull() }
        makeRoom(9)
        room.withUnsafeMutableBytes { [count] room in
            room[count] = Kind.integer.rawValue
            room.storeBytes(of: value.littleEndian, toByteOffset: count + 1, as: Int64.self)
        }
        count += 9
    }

    mutating func add(_ value: String?) {
        guard let value else { return addNull() }
        let isAdded: Void? = value.utf8.withContiguousStorageIfAvailable {
            add(.text, UnsafeRawBufferPointer($0))
        }
        if isAdded == nil { Array(value.utf8).withUnsafeBytes { add(.text, $0) } }
    }

    mutating func add(text: UnsafeRawBufferPointer) { add(.text, text) }

    mutating func add(_ value: [UInt8]?) {
        guard let value else { return addNull() }
        value.withUnsafeBytes { add(.blob, $0) }
    }

    private mutating func addNull() {
        makeRoom(1)
        room[count] = Kind.null.rawValue
        count += 1
    }

    private mutating func add(_ kind: Kind, _ value: UnsafeRawBufferPointer) {
        let length = UInt32(value.count).littleEndian
        makeRoom(5 + value.count)
        room.withUnsafeMutableBytes { [count] room in
            room[count] = kind.rawValue
            room.storeBytes(of: length, toByteOffset: count + 1, as: UInt32.self)
            UnsafeMutableRawBufferPointer(rebasing: room[(count + 5)...]).copyMemory(from: value)
        }
        count += 5 + value.count
    }

    private mutating func makeRoom(_ more: Int) {
        let short = count + more - room.count
        if short > 0 { room += Array(repeating: 0, count: max(short, room.count)) }
    }
}
