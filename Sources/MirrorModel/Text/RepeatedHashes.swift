/// Finds the hashes that come more than once among very many, most of which come once.
///
/// Only what shares a hash with something need be kept and compared at all. The hashes are dealt out to
/// small groups first, and each group is put into a table that the processor's cache holds: a million
/// take 16 MiB for a moment and a fraction of the time of sorting them. Swift's hashes are seeded anew in
/// each process, so nobody can choose names that fall into one place.
package struct RepeatedHashes {
    /// The hashes that came again, once `find` has been called.
    package private(set) var repeated: Set<UInt64> = []
    private var hashes: [UInt64] = []

    private static let groupSize = 2048

    /// Expects about so many hashes; more are no fault.
    package init(expecting count: Int) { hashes.reserveCapacity(count + count / 16) }

    /// Takes a hash in.
    package mutating func insert(_ hash: UInt64) {
        // 0 is a free place below. Two hashes may become one: what shares a hash is compared anyway.
        hashes.append(hash == 0 ? 1 : hash)
    }

    /// Whether a hash that was taken in came again.
    package func contains(_ hash: UInt64) -> Bool { repeated.contains(hash == 0 ? 1 : hash) }

    /// Looks for the hashes that came again; nothing is taken in afterwards.
    package mutating func find() {
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

    /// Brings hashes with the same upper bits together; gives where each group ends.
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

    /// Puts one group into a table with open addressing.
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
