extension ResourceTable {
    /// The positions in the order of their paths' bytes, in which the index and a tree are read.
    ///
    /// Equal paths stay in the order of the manifest. Unless it is remembered, each call sorts anew.
    public var sortedOrder: PathOrder { columns.order ?? sortedPaths }

    /// Sorts the paths once for all calls of `sortedOrder`, until the table changes.
    package mutating func rememberOrder() {
        let order = sortedPaths
        own()
        columns.order = order
    }

    private var sortedPaths: PathOrder {
        if isSorted { return PathOrder(ofSorted: count) }
        // The eight bytes behind the common prefix of all paths decide most comparisons without a
        // look into the columns' arena.
        let skip = commonPrefix
        var keys = indices.map { position in
            withPath(at: position) { path in
                var key: UInt64 = 0
                for offset in skip..<(skip + 8) {
                    key = key << 8 | UInt64(offset < path.count ? path[offset] : 0)
                }
                return (key: key, position: UInt32(position))
            }
        }
        keys.sort { left, right in
            if left.key != right.key { return left.key < right.key }
            let order = compare(Int(left.position), Int(right.position))
            return order == 0 ? left.position < right.position : order < 0
        }
        return PathOrder(keys.map(\.position))
    }

    private var isSorted: Bool {
        indices.dropFirst().allSatisfy { compare($0 - 1, $0) <= 0 }
    }

    private var commonPrefix: Int {
        guard !isEmpty else { return 0 }
        return withPath(at: 0) { first in
            var length = first.count
            for position in 1..<Swift.max(count, 1) where length > 0 {
                length = withPath(at: position) { ByteOrder.commonPrefix(first, $0, limit: length) }
            }
            return length
        }
    }

    /// Negative, zero or positive as the first path's bytes come before, with or after the other's.
    func compare(_ first: Int, _ second: Int) -> Int {
        withPath(at: first) { first in
            withPath(at: second) { ByteOrder.compare(first, $0) }
        }
    }
}
