internal import MirrorModel

/// Reads what `PackedWriter` made. Bytes that it would not make are a damaged index.
struct PackedReader: ColumnReader {
    private var rest: ArraySlice<UInt8>

    /// Reads a value from its start. Throws where it has a form of another version.
    init(_ bytes: [UInt8]) throws(IndexError) {
        rest = bytes[...]
        guard rest.popFirst() == PackedWriter.version else { throw nonsense() }
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

    func nonsense() -> IndexError { .damaged("intents of a batch are not sound") }

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
