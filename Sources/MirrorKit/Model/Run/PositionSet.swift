/// A set of positions in a list, stored as one bit for each position up to the greatest.
struct PositionSet: Sendable {
    private var words: [UInt64] = []
    /// How many positions are in the set.
    private(set) var count = 0

    /// An empty set.
    init() {}

    /// Whether the set has no position.
    var isEmpty: Bool { count == 0 }

    /// Adds positions.
    mutating func insert(_ positions: some Sequence<Int>) {
        for position in positions { insert(position) }
    }

    /// Adds one position.
    mutating func insert(_ position: Int) {
        let word = position >> 6
        if word >= words.count {
            words += repeatElement(0, count: max(word + 1 - words.count, words.count))
        }
        let bit = UInt64(1) << UInt64(position & 63)
        if words[word] & bit == 0 { count += 1 }
        words[word] |= bit
    }

    /// Removes a position. Returns false if it was not in the set.
    @discardableResult
    mutating func remove(_ position: Int) -> Bool {
        guard contains(position) else { return false }
        words[position >> 6] &= ~(UInt64(1) << UInt64(position & 63))
        count -= 1
        return true
    }

    /// Whether a position is in the set.
    func contains(_ position: Int) -> Bool {
        position >> 6 < words.count && words[position >> 6] >> UInt64(position & 63) & 1 == 1
    }

    /// Removes all positions.
    mutating func removeAll() { self = PositionSet() }

    /// The positions in the set, ascending.
    var positions: [Int] {
        words.enumerated().flatMap { word, bits in
            (0..<64).filter { bits >> UInt64($0) & 1 == 1 }.map { word << 6 + $0 }
        }
    }
}
