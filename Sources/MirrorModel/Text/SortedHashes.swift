/// A sorted list of hashes for fast lookup.
package struct SortedHashes: Sendable {
    private let hashes: [UInt64]

    /// Takes hashes in any order.
    package init(_ hashes: some Sequence<UInt64>) { self.hashes = hashes.sorted() }

    /// Whether there are no hashes.
    package var isEmpty: Bool { hashes.isEmpty }

    /// Whether a hash is among them.
    package func contains(_ hash: UInt64) -> Bool {
        let position = hashes.indices.first(sortedWhere: { hashes[$0] >= hash })
        return position < hashes.count && hashes[position] == hash
    }
}

extension Digest {
    /// The first eight bytes, which suffice to rule out nearly all other digests; never 0.
    package var start: UInt64 { bytes.withUnsafeBytes(Digest.start) }

    /// The same value, from a digest's bytes.
    package static func start(of digest: UnsafeRawBufferPointer) -> UInt64 {
        digest.count < 8 ? 1 : max(1, digest.loadUnaligned(as: UInt64.self))
    }
}

extension Range<Int> {
    /// The first position for which the condition holds; the end when it holds for none.
    ///
    /// Where it holds for a position, it must hold for all later positions too.
    func first(sortedWhere isBehind: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
