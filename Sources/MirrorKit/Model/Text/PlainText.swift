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
