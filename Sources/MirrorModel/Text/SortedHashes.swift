/// Hashes to look others up in.
package struct SortedHashes: Sendable {
    private let hashes: [UInt64]

    /// Takes hashes in any order.
    package init(_ hashes: some Sequence<UInt64>) { self.hashes = hashes.sorted() }

    /// Whether there is none.
    package var isEmpty: Bool { hashes.isEmpty }

    /// Whether a hash is among them.
    package func contains(_ hash: UInt64) -> Bool {
        let position = hashes.indices.first(sortedWhere: { hashes[$0] >= hash })
        return position < hashes.count && hashes[position] == hash
    }
}

extension Digest {
    /// The first eight bytes, which are enough to leave nearly all others out; never 0.
    package var start: UInt64 { bytes.withUnsafeBytes(Digest.start) }

    /// The same of a digest's bytes.
    package static func start(of digest: UnsafeRawBufferPointer) -> UInt64 {
        digest.count < 8 ? 1 : max(1, digest.loadUnaligned(as: UInt64.self))
    }
}

extension Range<Int> {
    /// The first position that something is true of, where it is true of all behind that too; the end when
    /// it is true of none.
    func first(sortedWhere isBehind: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
