/// The positions of paths in the order of the paths' bytes.
///
/// Paths that are listed in that order take no memory here, others four bytes each.
public struct PathOrder: Sendable, RandomAccessCollection {
    /// How many paths there are.
    public let endIndex: Int
    /// The positions; nil where each path has its own.
    private let permutation: [UInt32]?

    /// The order of paths that are listed in it.
    package init(ofSorted count: Int) {
        endIndex = count
        permutation = nil
    }

    /// Takes the positions in their order.
    init(_ permutation: [UInt32]) {
        endIndex = permutation.count
        self.permutation = permutation
    }

    /// 0.
    public var startIndex: Int { 0 }

    /// The position of the path that comes at this place.
    public subscript(place: Int) -> Int { permutation.map { Int($0[place]) } ?? place }
}
