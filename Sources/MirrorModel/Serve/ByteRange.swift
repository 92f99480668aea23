/// A Range field, as far as it asks for one part (RFC 9110 §14.2).
package enum ByteRange: Sendable, Hashable {
    /// From a first byte to a last one, which may be beyond the end; nil is the end.
    case from(Int64, through: Int64?)
    /// So many bytes at the end.
    case suffix(Int64)

    /// Reads a value; nil if it is malformed, of another unit, or asks for several parts.
    ///
    /// A server may ignore such a field, and then answers with the whole.
    package init?(_ text: String) {
        var scan = FieldScanner(text.utf8)
        guard scan.token()?.lowercased() == "bytes", scan.take(UInt8(ascii: "=")) else {
            return nil
        }
        scan.skipSpaces()
        let hyphen = UInt8(ascii: "-")
        if scan.take(hyphen) {
            guard let length = scan.number() else { return nil }
            self = .suffix(length)
        } else {
            guard let first = scan.number(), scan.take(hyphen) else { return nil }
            let last = scan.number()
            if let last, last < first { return nil }
            self = .from(first, through: last)
        }
        scan.skipSpaces()
        guard scan.isAtEnd else { return nil }
    }

    /// The bytes of a representation of this size; nil if there are none in the range.
    package func bytes(ofSize size: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, let last):
            guard first < size else { return nil }
            return first..<(last.map { min($0, size - 1) + 1 } ?? size)
        case .suffix(let length):
            guard length > 0, size > 0 else { return nil }
            return max(0, size - length)..<size
        }
    }
}
