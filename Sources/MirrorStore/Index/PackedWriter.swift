internal import Glibc

/// Packs the columns of several rows into one value, for `PackedReader`.
///
/// The first byte is the version of the form. Of each column follow its kind, one byte, and then nothing
/// for NULL; eight bytes for an integer; four bytes for the length of text or bytes, and they
/// themselves. Numbers are little-endian.
struct PackedWriter: ColumnWriter {
    /// The version that this writer makes.
    static let version: UInt8 = 1

    /// The kind of a column.
    enum Kind: UInt8 { case null, integer, text, blob }

    private(set) var bytes: [UInt8]

    /// Has room for so many bytes at first.
    init(room: Int = 0) {
        bytes = []
        bytes.reserveCapacity(room)
        bytes.append(PackedWriter.version)
    }

    mutating func add(_ value: Int64?) {
        guard let value else { return bytes.append(Kind.null.rawValue) }
        bytes.append(Kind.integer.rawValue)
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ value: String?) {
        guard var value else { return bytes.append(Kind.null.rawValue) }
        value.withUTF8 { add(.text, UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ value: [UInt8]?) {
        guard let value else { return bytes.append(Kind.null.rawValue) }
        value.withUnsafeBytes { add(.blob, $0) }
    }

    private mutating func add(_ kind: Kind, _ value: UnsafeRawBufferPointer) {
        bytes.append(kind.rawValue)
        withUnsafeBytes(of: UInt32(value.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
    }
}
