/// Finds the hashes that occur more than once among very many that mostly occur once.
///
/// Only values that share a hash with another value must then be kept and compared. `find` first
/// divides the hashes into small groups. Then it puts each group into a table that fits into the
/// processor's cache. A million hashes take 16 MiB for a moment, and a fraction of the time of
/// sorting them. Each process seeds Swift's hashes again, so an author cannot choose names that all
/// fall into one place.
struct RepeatedHashes {
    /// The hashes that were added more than once; empty until `find`.
    private(set) var repeated: Set<UInt64> = []
    private var hashes: [UInt64] = []

    private static let groupSize = 2048

    /// Makes room for about `count` hashes. More hashes may be added.
    init(expecting count: Int) { hashes.reserveCapacity(count + count / 16) }

    /// Adds a hash.
    mutating func insert(_ hash: UInt64) {
        // 0 marks a free place in `search`, so a hash of 0 counts as 1. Callers compare the values
        // that share a hash anyway.
        hashes.append(hash == 0 ? 1 : hash)
    }

    /// Whether a hash was added more than once; false until `find`.
    func contains(_ hash: UInt64) -> Bool { repeated.contains(hash == 0 ? 1 : hash) }

    /// Finds the hashes that were added more than once. No hash may be added after this.
    mutating func find() {
        var bits = 0
        while bits < 12, hashes.count >> bits > RepeatedHashes.groupSize { bits += 1 }
        let ends = dealOut(bits: bits)
        var table: [UInt64] = []
        var start = 0
        for end in ends {
            search(start..<end, &table)
            start = end
        }
        hashes = []
    }

    /// Groups the hashes by their upper bits. Returns the end of each group.
    private mutating func dealOut(bits: Int) -> [Int] {
        if bits == 0 { return [hashes.count] }
        let shift = UInt64(64 - bits)
        var places = [Int](repeating: 0, count: 1 << bits)
        for hash in hashes { places[Int(hash >> shift)] += 1 }
        var next = 0
        for group in places.indices {
            let count = places[group]
            places[group] = next
            next += count
        }
        hashes = [UInt64](unsafeUninitializedCapacity: hashes.count) { dealt, count in
            for hash in hashes {
                let group = Int(hash >> shift)
                dealt[places[group]] = hash
                places[group] += 1
            }
            count = hashes.count
        }
        return places
    }

    /// Finds the repeated hashes of one group, in a table with open addressing.
    private mutating func search(_ group: Range<Int>, _ table: inout [UInt64]) {
        var size = 64
        while size < 2 * group.count { size *= 2 }
        if table.count == size {
            for at in table.indices { table[at] = 0 }
        } else {
            table = Array(repeating: 0, count: size)
        }
        for position in group {
            let hash = hashes[position]
            var at = Int(truncatingIfNeeded: hash) & (size - 1)
            while table[at] != 0, table[at] != hash { at = (at + 1) & (size - 1) }
            if table[at] == hash { repeated.insert(hash) }
            table[at] = hash
        }
    }
}

/// A sorted list of hashes for fast lookup.
struct SortedHashes: Sendable {
    private let hashes: [UInt64]

    /// Takes hashes in any order.
    init(_ hashes: some Sequence<UInt64>) { self.hashes = hashes.sorted() }

    /// Whether there are no hashes.
    var isEmpty: Bool { hashes.isEmpty }

    /// Whether the list has a hash.
    func contains(_ hash: UInt64) -> Bool {
        let position = hashes.indices.partitioningIndex(where: { hashes[$0] >= hash })
        return position < hashes.count && hashes[position] == hash
    }
}

extension Digest {
    /// The digest's first eight bytes, which rule out nearly all other digests; never 0.
    var start: UInt64 { bytes.withUnsafeBytes(Digest.start) }

    /// Returns the same number for the bytes of a digest.
    static func start(of digest: UnsafeRawBufferPointer) -> UInt64 {
        digest.count < 8 ? 1 : max(1, digest.loadUnaligned(as: UInt64.self))
    }
}

extension Range<Int> {
    /// Returns the first position for which the condition holds, or the end if it holds for none.
    ///
    /// If the condition holds for a position, it must hold for all later positions too.
    func partitioningIndex(where isBehind: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
