/// Gives the columns of a row, one after another; nonsense in one is a damaged index.
protocol ColumnReader {
    /// The next column, an integer or NULL.
    mutating func optionalInt() throws(IndexError) -> Int64?
    /// The next column, text in sound UTF-8 or NULL; a text that is known already is not made anew.
    mutating func optionalText(known: String?) throws(IndexError) -> String?
    /// Passes the bytes of the next column, text that need not be sound.
    mutating func withText<Value>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Value
    ) throws(IndexError) -> Value
    /// The next column, bytes or NULL.
    mutating func optionalBlob() throws(IndexError) -> [UInt8]?
    /// The error for a value that cannot be, in the column that was read last.
    func nonsense() -> IndexError
}

extension ColumnReader {
    /// The next column, an integer.
    mutating func int() throws(IndexError) -> Int64 {
        guard let value = try optionalInt() else { throw nonsense() }
        return value
    }

    /// The next column, text in sound UTF-8 or NULL.
    mutating func optionalText() throws(IndexError) -> String? { try optionalText(known: nil) }

    /// The next column, text.
    mutating func text(known: String? = nil) throws(IndexError) -> String {
        guard let value = try optionalText(known: known) else { throw nonsense() }
        return value
    }

    /// The next column, bytes.
    mutating func blob() throws(IndexError) -> [UInt8] {
        guard let value = try optionalBlob() else { throw nonsense() }
        return value
    }
}
