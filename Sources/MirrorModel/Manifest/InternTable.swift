/// Equal values, kept once and referred to by number.
struct InternTable<Value: Hashable & Sendable>: Sendable {
    private(set) var values: [Value] = []
    private var numbers: [Value: Int] = [:]
    private var last: (value: Value, number: Int)?

    mutating func number(of value: Value) -> Int {
        // Neighbours are mostly alike, and comparing shared storage is faster than hashing it.
        if let last, last.value == value { return last.number }
        let number = numbers[value] ?? values.count
        if number == values.count {
            values.append(value)
            numbers[value] = number
        }
        last = (value, number)
        return number
    }
}
