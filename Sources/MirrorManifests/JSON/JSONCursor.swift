internal import MirrorModel

/// Where the reader of a JSON text is: the chunk at hand, and the line and column in the whole.
///
/// The text comes in chunks, so that memory does not grow with it. A column counts characters, and
/// a character has up to four bytes; so a mark counts the bytes that begin none.
struct JSONCursor {
    /// A place in the chunk at hand.
    struct Mark {
        /// The offset in the chunk.
        var at = 0
        var line = 1
        /// The offset at which the line begins; negative if it began before the chunk.
        var lineStart = 0
        /// The number of bytes in this line that begin no character.
        var continuations = 0

        var position: TextPosition {
            TextPosition(line: line, column: at - lineStart - continuations + 1)
        }

        /// Takes a line feed.
        mutating func takeNewline() {
            at += 1
            line += 1
            lineStart = at
            continuations = 0
        }
    }

    private let bytes: ManifestBytes
    private(set) var chunk: [UInt8] = []
    /// The offset in the text that the chunk begins at.
    private var chunkStart = 0
    private(set) var mark = Mark()

    /// Begins at the first byte behind a byte order mark.
    init(_ bytes: ManifestBytes) throws(DecodingStop) {
        self.bytes = bytes
        bytes.rewind()
        try refill()
        if chunk.starts(with: [0xEF, 0xBB, 0xBF]) {
            mark.at = 3
            mark.lineStart = 3
        }
    }

    var position: TextPosition { mark.position }

    /// The offset of the next byte in the text.
    var offset: Int { chunkStart + mark.at }

    /// The next byte, without taking it; nil at the end of the text.
    mutating func peek() throws(DecodingStop) -> UInt8? {
        if mark.at == chunk.count {
            try refill()
            if chunk.isEmpty { return nil }
        }
        return chunk[mark.at]
    }

    /// Takes a byte that begins a character and ends no line.
    mutating func take() { mark.at += 1 }

    /// Takes a byte that begins no character.
    mutating func takeContinuation() {
        mark.at += 1
        mark.continuations += 1
    }

    /// Takes a line feed.
    mutating func takeNewline() { mark.takeNewline() }

    /// Takes all bytes before a place in the chunk at hand.
    mutating func move(to mark: Mark) { self.mark = mark }

    /// Takes the bytes before the next one that needs a check: most strings are one such run.
    mutating func takePlainRun(into text: inout [UInt8]) {
        let from = mark.at
        let end = chunk.withUnsafeBufferPointer { chunk in
            var end = from
            while end < chunk.count {
                let byte = chunk[end]
                if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { break }
                end += 1
            }
            return end
        }
        text += chunk[from..<end]
        mark.at = end
    }

    /// Puts back the byte that was just taken.
    mutating func putBack(_ byte: UInt8) {
        if mark.at > 0 {
            mark.at -= 1
            return
        }
        // The byte was the last one of the previous chunk. It is put before this one.
        chunk.insert(byte, at: 0)
        chunkStart -= 1
        mark.lineStart += 1
    }

    private mutating func refill() throws(DecodingStop) {
        chunkStart += chunk.count
        mark.lineStart -= chunk.count
        mark.at = 0
        try bytes.next(&chunk)
    }
}
