/// Takes the columns of a row, one after another.
protocol ColumnWriter: ~Copyable {
    /// Takes an integer, or NULL.
    mutating func add(_ value: Int64?)
    /// Takes text, or NULL.
    mutating func add(_ value: String?)
    /// Takes text that is sound UTF-8, as bytes that are not valid afterwards.
    mutating func add(text: UnsafeRawBufferPointer)
    /// Takes bytes, or NULL.
    mutating func add(_ value: [UInt8]?)
}
