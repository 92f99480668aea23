import MirrorTestSupport

/// Numbers that a seed fixes.
final class Chance: @unchecked Sendable {
    // One thread uses it; see VirtualTime.
    private var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    /// A number of a range.
    func number(_ range: ClosedRange<Int64>) -> Int64 {
        Int64.random(in: range, using: &generator)
    }

    /// Whether something with a chance of one in so many happens.
    func oneIn(_ count: Int64) -> Bool { number(1...count) == 1 }

    /// One of several.
    func pick<Value>(_ values: [Value]) -> Value {
        values[Int(number(0...Int64(values.count) - 1))]
    }
}
