/// One resource as the table keeps it: 40 bytes, and its path, URL and digest in the arena.
///
/// A table may hold a million records. Values that most resources share (origin, headers, tags) and
/// values that few have (mirrors, pieces, a body) are kept elsewhere and referred to by number.
struct ResourceRecord: Sendable {
    /// Where path, URL and digest begin, one after the other.
    var position: ByteArena.Position
    /// The declared size; the least number when none is declared.
    private var sizeOrLeast = Int64.min
    var line: UInt32
    var column: UInt32
    /// The number of its traits.
    var traits: UInt32
    /// The number of its rarities, from 1; 0 when it has none.
    var rarity: UInt32
    /// The path's length in the lower 12 bits, the digest's kind in the upper 4.
    private var lengthAndKind: UInt16
    /// The length in bytes of the URL's path and query that the arena holds.
    var urlLength: UInt16
    /// The length of the URL's end that is also the path's end, and is not stored again.
    var sharedLength: UInt16
    /// The number of the URL's authority.
    var authority: UInt16

    init(position: ByteArena.Position, pathLength: Int, digest: DigestAlgorithm?) {
        self.position = position
        let kind = digest.flatMap { DigestAlgorithm.allCases.firstIndex(of: $0) }.map { $0 + 1 }
        lengthAndKind = UInt16(pathLength) | UInt16(kind ?? 0) << 12
        (line, column, traits, rarity) = (0, 0, 0, 0)
        (urlLength, sharedLength, authority) = (0, 0, 0)
    }

    /// The declared size. A negative one is kept, so that it can be refused.
    var size: Int64? {
        get { sizeOrLeast == .min ? nil : sizeOrLeast }
        set { sizeOrLeast = newValue.map { max($0, .min + 1) } ?? .min }
    }

    var pathLength: Int { Int(lengthAndKind & 0xFFF) }

    /// The algorithm of the digest in the arena; nil when there is none.
    var digest: DigestAlgorithm? {
        let kind = Int(lengthAndKind >> 12)
        return kind == 0 ? nil : DigestAlgorithm.allCases[kind - 1]
    }
}
