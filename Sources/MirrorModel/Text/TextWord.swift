/// Eight bytes of a text, which are looked at together.
///
/// A byte less the one that it is compared with has its highest bit if that was greater, or if a borrow
/// came from a byte before, which then was found itself (S. E. Anderson, Bit Twiddling Hacks, "Determine
/// if a word has a byte less than n"). So the first byte found is always right, and those behind it may
/// be wrong.
struct TextWord {
    /// The number of bytes.
    static let size = 8

    let bytes: UInt64

    /// The bytes from an offset on, of which there are eight.
    init(_ text: UnsafeRawBufferPointer, at offset: Int) {
        bytes = UInt64(
            littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Marks the bytes that are this one.
    func marks(of byte: UInt8) -> Marks {
        let differing = bytes ^ TextWord.ones &* UInt64(byte)
        return Marks(bits: (differing &- TextWord.ones) & ~differing & TextWord.highest)
    }

    /// Marks the bytes less than this one, which is at most 0x80.
    func marks(below byte: UInt8) -> Marks {
        Marks(bits: (bytes &- TextWord.ones &* UInt64(byte)) & ~bytes & TextWord.highest)
    }

    /// Marks the bytes that are not ASCII.
    var marksBeyondASCII: Marks { Marks(bits: bytes & TextWord.highest) }

    static var ones: UInt64 { 0x0101_0101_0101_0101 }
    static var highest: UInt64 { 0x8080_8080_8080_8080 }

    /// Bytes that were found.
    struct Marks {
        let bits: UInt64

        init(bits: UInt64) { self.bits = bits }

        /// Whether none was found.
        var isEmpty: Bool { bits == 0 }
        /// The place of the first, 0…7; 8 when there is none.
        var first: Int { bits.trailingZeroBitCount / 8 }

        /// Those found by either.
        static func | (one: Marks, other: Marks) -> Marks {
            Marks(bits: one.bits | other.bits)
        }
    }
}
