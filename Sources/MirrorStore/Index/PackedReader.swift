internal import MirrorModel

/// Reads what `PackedWriter` made. Bytes that it would not make are a damaged index.
struct PackedReader: ColumnReader {
    private var rest: ArraySlice<UInt8>
    /// Whether records have the columns that they had until version 6 of the index.
    let hasFormerRecords: Bool

    /// Reads a value from its start. Throws where it has a form of another version.
    init(_ bytes: [UInt8]) throws(IndexError) {
        rest = bytes.dropFirst()
        switch bytes.first {
        case PackedWriter.version: hasFormerRecords = false
        case 1: hasFormerRecords = true
        default: throw .damaged(PackedReader.flaw)
        }
    }

    /// Whether every column was read.
    var isAtEnd: Bool { rest.isEmpty }

    mutating func optionalInt() throws(IndexError) -> Int64? {
        switch try kind() {
        case .integer: return Int64(bitPattern: try number(of: 8))
        case .null: return nil
        case .text, .blob: throw nonsense()
        }
    }

    mutating func optionalText(known: String?) throws(IndexError) -> String? {
        switch try kind() {
        case .text:
            guard let text = String(sound: Array(try taken())) else { throw nonsense() }
            return text
        case .null: return nil
        case .integer, .blob: throw nonsense()
        }
    }

    mutating func optionalBlob() throws(IndexError) -> [UInt8]? {
        switch try kind() {
        case .blob: return Array(try taken())
        case .null: return nil
        case .integer, .text: throw nonsense()
        }
    }

    private static let flaw = "intents of a batch are not sound"

    func nonsense() -> IndexError { .damaged(PackedReader.flaw) }

    mutating func withText<Value>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) throws(IndexError) -> Value {
        guard try kind() == .text else { throw nonsense() }
        return try taken().withUnsafeBufferPointer(body)
    }

    private mutating func kind() throws(IndexError) -> PackedWriter.Kind {
        guard let byte = rest.popFirst(), let kind = PackedWriter.Kind(rawValue: byte) else {
            throw nonsense()
        }
        return kind
    }

    private mutating func taken() throws(IndexError) -> ArraySlice<UInt8> {
        try taken(Int(clamping: try number(of: 4)))
    }

    private mutating func taken(_ count: Int) throws(IndexError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw nonsense() }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func number(of count: Int) throws(IndexError) -> UInt64 {
        try taken(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
