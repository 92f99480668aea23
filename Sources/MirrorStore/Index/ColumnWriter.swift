/// Takes the columns of a row, one after another.
protocol ColumnWriter: ~Copyable {
    /// Takes an integer, or NULL.
    mutating func add(_ value: Int64?)
    /// Takes text, or NULL.
    mutating func add(_ value: String?)
    /// Takes bytes, or NULL.
    mutating func add(_ value: [UInt8]?)
}
