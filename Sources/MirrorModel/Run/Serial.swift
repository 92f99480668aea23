/// A number that the program itself gave away, as a key of a dictionary.
///
/// Dictionaries hash their keys with a secret, so that nobody can choose keys that collide. Nobody
/// chooses these numbers: one multiplication spreads them as well, at a tenth of the cost.
@usableFromInline
package struct Serial: Hashable, Sendable {
    @usableFromInline package let number: Int

    @inlinable
    package init(_ number: Int) { self.number = number }

    /// The hash that dictionaries and sets ask for.
    @inlinable
    package func _rawHashValue(seed: Int) -> Int {
        // The golden ratio's digits (Knuth, The Art of Computer Programming 3, §6.4): neighbours come
        // to lie far apart, and the high half depends on all bits.
        let product = UInt64(bitPattern: Int64(number)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: product >> 32)
    }
}

/// Numbers as keys: a dictionary is used as if its keys were the numbers themselves.
extension Dictionary where Key == Serial {
    @inlinable
    package subscript(number: Int) -> Value? {
        get { self[Serial(number)] }
        _modify { yield &self[Serial(number)] }
    }

    /// Removes the value of a number; nil when there is none.
    @inlinable @discardableResult
    package mutating func removeValue(forKey number: Int) -> Value? {
        removeValue(forKey: Serial(number))
    }
}
