/// The positions of a list's paths, sorted by the paths' bytes.
///
/// If the list is sorted already, the order takes no memory. Otherwise it takes four bytes a path.
struct PathOrder: Sendable, RandomAccessCollection {
    /// The number of paths.
    let endIndex: Int
    /// The sorted positions. `nil` means that the list is sorted already.
    private let permutation: [UInt32]?

    /// Creates the order of `count` paths that are listed in this order already.
    init(ofSorted count: Int) {
        endIndex = count
        permutation = nil
    }

    /// Sorts the paths of a table.
    init(of table: ResourceTable) {
        endIndex = table.count
        permutation = PathOrder.isSorted(table) ? nil : PathOrder.sorted(table)
    }

    /// Always 0.
    var startIndex: Int { 0 }

    /// Returns the position in the list of the path at a place in the sorted order.
    subscript(place: Int) -> Int { permutation.map { Int($0[place]) } ?? place }
}

extension PathOrder {
    private static func isSorted(_ table: ResourceTable) -> Bool {
        table.indices.dropFirst().allSatisfy { table.compare($0 - 1, $0) <= 0 }
    }

    private static func sorted(_ table: ResourceTable) -> [UInt32] {
        // The eight bytes behind the common prefix of all paths decide most comparisons without a
        // look at the paths.
        let skip = commonPrefix(table)
        var keys = table.indices.map { position in
            table.withPath(at: position) { path in
                var key: UInt64 = 0
                for offset in skip..<(skip + 8) {
                    key = key << 8 | UInt64(offset < path.count ? path[offset] : 0)
                }
                return (key: key, position: UInt32(position))
            }
        }
        keys.sort { left, right in
            if left.key != right.key { return left.key < right.key }
            let order = table.compare(Int(left.position), Int(right.position))
            return order == 0 ? left.position < right.position : order < 0
        }
        return keys.map(\.position)
    }

    private static func commonPrefix(_ table: ResourceTable) -> Int {
        guard !table.isEmpty else { return 0 }
        return table.withPath(at: 0) { first in
            var length = first.count
            for position in table.indices.dropFirst() where length > 0 {
                length = table.withPath(at: position) {
                    ByteOrder.commonPrefix(first, $0, limit: length)
                }
            }
            return length
        }
    }
}
