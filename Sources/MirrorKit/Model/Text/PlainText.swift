/// Text that needs no escapes in JSON.
enum PlainText {
    /// Returns the offset of the first byte from `start` on that is special or not ASCII.
    ///
    /// A quote, a backslash and a control character are special. Returns `text.count` if there is
    /// no such byte.
    static func end(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
        var end = start
        while end + TextWord.size <= text.count {
            let word = TextWord(text, at: end)
            let found = special(word) | word.marksBeyondASCII
            end += found.first
            if !found.isEmpty { return end }
        }
        while end < text.count, text[end] < 0x80, !isSpecial(text[end]) { end += 1 }
        return end
    }

    /// Whether no byte is a quote, a backslash or a control character.
    static func hasNoSpecial(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count >= TextWord.size else { return !text.contains(where: isSpecial) }
        var at = 0
        while at < text.count {
            // The last word may overlap the one before it.
            at = min(at, text.count - TextWord.size)
            if !special(TextWord(text, at: at)).isEmpty { return false }
            at += TextWord.size
        }
        return true
    }

    /// Whether a byte is a quote, a backslash or a control character.
    static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private static func special(_ word: TextWord) -> TextWord.Marks {
        word.marks(below: 0x20) | word.marks(of: UInt8(ascii: "\""))
            | word.marks(of: UInt8(ascii: "\\")) | word.marks(of: 0x7F)
    }
}

/// Eight bytes of a text, which are examined together.
///
/// A subtraction from all bytes at once sets the highest bit of each byte that is too small. A
/// borrow can set that bit also in the byte after a found one. So the first mark is always right,
/// and marks after it may be wrong. The method is from S. E. Anderson, Bit Twiddling Hacks,
/// "Determine if a word has a byte less than n".
struct TextWord {
    /// The number of bytes in a word.
    static let size = 8

    let bytes: UInt64

    /// Reads eight bytes of a text from an offset on.
    init(_ text: UnsafeRawBufferPointer, at offset: Int) {
        bytes = UInt64(
            littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Marks the bytes that are equal to `byte`.
    func marks(of byte: UInt8) -> Marks {
        let differing = bytes ^ TextWord.ones &* UInt64(byte)
        return Marks(bits: (differing &- TextWord.ones) & ~differing & TextWord.highest)
    }

    /// Marks the bytes that are less than `byte`, which is at most 0x80.
    func marks(below byte: UInt8) -> Marks {
        Marks(bits: (bytes &- TextWord.ones &* UInt64(byte)) & ~bytes & TextWord.highest)
    }

    /// Marks the bytes that are not ASCII.
    var marksBeyondASCII: Marks { Marks(bits: bytes & TextWord.highest) }

    static var ones: UInt64 { 0x0101_0101_0101_0101 }
    static var highest: UInt64 { 0x8080_8080_8080_8080 }

    /// The bytes of a word that a search found.
    struct Marks {
        let bits: UInt64

        /// Whether no byte is marked.
        var isEmpty: Bool { bits == 0 }
        /// The place of the first marked byte, 0…7; 8 if no byte is marked.
        var first: Int { bits.trailingZeroBitCount / 8 }

        /// Marks the bytes that either operand marks.
        static func | (one: Marks, other: Marks) -> Marks {
            Marks(bits: one.bits | other.bits)
        }
    }
}
