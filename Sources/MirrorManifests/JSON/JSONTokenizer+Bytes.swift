internal import MirrorModel

extension JSONTokenizer {
    /// The next byte, without taking it; nil at the end of the text.
    mutating func peek() throws(DecodingStop) -> UInt8? {
        if at == buffer.count {
            try refill()
            if buffer.isEmpty { return nil }
        }
        return buffer[at]
    }

    package mutating func refill() throws(DecodingStop) {
        bufferStart += buffer.count
        at = 0
        try bytes.next(&buffer)
    }

    /// Skips white space and comments, which are logged; returns the byte after them.
    mutating func skipSpace() throws(DecodingStop) -> UInt8? {
        while let byte = try peek() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): at += 1
            case UInt8(ascii: "\n"): newline()
            case UInt8(ascii: "/"), UInt8(ascii: "#"): try skipComment(byte)
            default: return byte
            }
        }
        return nil
    }

    private mutating func newline() {
        at += 1
        line += 1
        lineStart = bufferStart + at
        continuations = 0
    }

    private mutating func skipComment(_ first: UInt8) throws(DecodingStop) {
        start = position
        at += 1
        var isBlock = false
        if first == UInt8(ascii: "/") {
            let second = try peek()
            guard second == UInt8(ascii: "/") || second == UInt8(ascii: "*") else {
                throw fail(.unexpected("/", wanted: "a value"))
            }
            isBlock = second == UInt8(ascii: "*")
            at += 1
        }
        report(.comment)
        var last: UInt8 = 0
        while let byte = try peek() {
            if byte == UInt8(ascii: "\n") {
                newline()
                if !isBlock { return }
            } else if byte >= 0x80 {
                try readMultibyte()
                text.removeAll(keepingCapacity: true)
            } else {
                at += 1
                if isBlock, last == UInt8(ascii: "*"), byte == UInt8(ascii: "/") { return }
            }
            last = byte
        }
        if isBlock { throw fail(.unexpectedEnd(wanted: "*/")) }
    }

    /// Takes a word, or else one character; returns at most 40 bytes of it.
    mutating func excerpt() throws(DecodingStop) -> String {
        text.removeAll(keepingCapacity: true)
        while let byte = try peek(), text.count < 40 {
            if byte >= 0x80 {
                try readMultibyte()
            } else if text.isEmpty || isWord(byte) {
                text.append(byte)
                at += 1
                if !isWord(byte) { break }
            } else {
                break
            }
        }
        return string
    }

    private func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "$"):
            true
        default: false
        }
    }

    /// Adds one character of two to four bytes to the text, checked by Unicode's Table 3-7.
    mutating func readMultibyte() throws(DecodingStop) {
        guard let lead = try peek() else { return }
        var range: ClosedRange<UInt8> = 0x80...0xBF
        let count: Int
        switch lead {
        case 0xC2...0xDF: count = 1
        case 0xE0: (count, range) = (2, 0xA0...0xBF)
        case 0xED: (count, range) = (2, 0x80...0x9F)
        case 0xE1...0xEF: count = 2
        case 0xF0: (count, range) = (3, 0x90...0xBF)
        case 0xF1...0xF3: count = 3
        case 0xF4: (count, range) = (3, 0x80...0x8F)
        default: throw failHere(.invalidUTF8)
        }
        let place = position
        text.append(lead)
        at += 1
        for _ in 0..<count {
            guard let byte = try peek(), range.contains(byte) else {
                start = place
                throw fail(.invalidUTF8)
            }
            text.append(byte)
            at += 1
            continuations += 1
            range = 0x80...0xBF
        }
    }

    mutating func failHere(_ flaw: JSONFlaw, correction: Correction? = nil) -> DecodingStop {
        start = position
        return fail(flaw, correction: correction)
    }
}
