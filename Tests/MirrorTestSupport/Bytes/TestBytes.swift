/// Bytes that a seed fixes: the same on every machine, and different everywhere for another seed.
///
/// A splice of two versions can be told from either, since no two of their words are equal.
public enum TestBytes {
    /// Makes `count` bytes from a seed by SplitMix64.
    public static func make(_ count: Int, seed: UInt64) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var at = 0
            while at + 8 <= count {
                raw.storeBytes(of: random.next().littleEndian, toByteOffset: at, as: UInt64.self)
                at += 8
            }
            var last = random.next()
            while at < count {
                raw.storeBytes(
                    of: UInt8(truncatingIfNeeded: last), toByteOffset: at, as: UInt8.self)
                last >>= 8
                at += 1
            }
            initialized = count
        }
    }
}

/// A random number generator that a seed fixes, so that a failing run can be repeated.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Begins at a seed.
    ///
    /// The state steps by the odd constant, so seeds that differ by it, or by few of them, would give
    /// each other's numbers a little later; mixed first, they have nothing to do with each other.
    public init(seed: UInt64) { state = SplitMix64.mix(seed) }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SplitMix64.mix(state)
    }

    private static func mix(_ state: UInt64) -> UInt64 {
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
