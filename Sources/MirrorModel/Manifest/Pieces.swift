/// SHA-256 digests of consecutive pieces of a file; the last piece may be shorter.
public struct Pieces: Sendable, Hashable {
    /// The length of a piece in bytes; greater than 0.
    public let length: Int64
    /// The digests one after the other, 32 bytes each: a large file has very many.
    private let packed: [UInt8]

    /// Takes a length and digests; nil when the length is not positive, there are no digests, or
    /// one of them is not a sha256.
    public init?(length: Int64, digests: [Digest]) {
        guard digests.allSatisfy({ $0.algorithm == .sha256 }) else { return nil }
        self.init(length: length, packed: digests.flatMap(\.bytes))
    }

    /// Takes a length and the bytes of the digests; nil when the length is not positive or the bytes
    /// are not one or more whole digests.
    public init?(length: Int64, packed: [UInt8]) {
        let size = DigestAlgorithm.sha256.byteCount
        guard length > 0, !packed.isEmpty, packed.count.isMultiple(of: size) else { return nil }
        self.length = length
        self.packed = packed
    }

    /// How many pieces there are.
    public var count: Int { packed.count / DigestAlgorithm.sha256.byteCount }

    /// The bytes of one piece's sha256, counted from 0.
    public func sha256(at position: Int) -> ArraySlice<UInt8> {
        let size = DigestAlgorithm.sha256.byteCount
        return packed[(position * size)..<((position + 1) * size)]
    }

    /// One digest a piece.
    public var digests: [Digest] {
        (0..<count).compactMap { Digest(.sha256, bytes: Array(sha256(at: $0))) }
    }

    /// Whether a file of this size has this number of pieces.
    public func fits(size: Int64) -> Bool {
        let (whole, rest) = size.quotientAndRemainder(dividingBy: length)
        return Int64(count) == max(whole + (rest > 0 ? 1 : 0), 1)
    }
}
