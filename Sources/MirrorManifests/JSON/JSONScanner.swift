internal import MirrorModel

/// Takes what a JSON text is made of: space, strings, numbers and words.
///
/// The scanner checks what each of them must be by itself: UTF-8, escapes, the form of numbers. What
/// may follow what, the tokenizer knows. A comment is logged and skipped.
struct JSONScanner {
    /// The greatest length of a string, key or number of a manifest in bytes.
    static let longestText = 1 << 20

    private(set) var cursor: JSONCursor
    private let log: DiagnosticLog
    /// The greatest length of a string, key or number in bytes.
    private let longestText: Int
    /// Where the token begins that is being read; errors are reported there.
    private(set) var start = TextPosition()
    /// The decoded text of the last key, string or number; valid UTF-8.
    private(set) var text: [UInt8] = []

    init(_ bytes: ManifestBytes, log: DiagnosticLog, longestText: Int) throws(DecodingStop) {
        cursor = try JSONCursor(bytes)
        (self.log, self.longestText) = (log, longestText)
    }

    /// The text of the last key, string or number.
    var string: String { String(decoding: text, as: UTF8.self) }

    /// Begins a token at the next byte, or goes on with one that began at `place`.
    mutating func begin(at place: TextPosition? = nil) { start = place ?? cursor.position }

    /// Takes a byte that is no part of a text.
    mutating func take() { cursor.take() }

    /// Takes all bytes before a place in the chunk at hand.
    mutating func move(to mark: JSONCursor.Mark) { cursor.move(to: mark) }

    func report(_ flaw: JSONFlaw, at place: TextPosition? = nil, correction: Correction? = nil) {
        log.error(at: place ?? start, flaw.description, correction: correction)
    }

    /// Reports a flaw that ends the reading.
    ///
    /// It must not look at the cursor or the text: where an excerpt of the text is an argument, it is
    /// read after the scanner was copied for this call.
    func fail(
        _ flaw: JSONFlaw, at place: TextPosition? = nil, correction: Correction? = nil
    ) -> DecodingStop {
        report(flaw, at: place, correction: correction)
        return .refused
    }

    /// Skips white space and comments, which are logged; returns the byte after them.
    mutating func skipSpace() throws(DecodingStop) -> UInt8? {
        while let byte = try cursor.peek() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): cursor.take()
            case UInt8(ascii: "\n"): cursor.takeNewline()
            case UInt8(ascii: "/"), UInt8(ascii: "#"): try skipComment(byte)
            default: return byte
            }
        }
        return nil
    }

    private mutating func skipComment(_ first: UInt8) throws(DecodingStop) {
        start = cursor.position
        cursor.take()
        var isBlock = false
        if first == UInt8(ascii: "/") {
            let second = try cursor.peek()
            guard second == UInt8(ascii: "/") || second == UInt8(ascii: "*") else {
                throw fail(.unexpected("/", wanted: "a value"))
            }
            isBlock = second == UInt8(ascii: "*")
            cursor.take()
        }
        report(.comment)
        var last: UInt8 = 0
        while let byte = try cursor.peek() {
            if byte == UInt8(ascii: "\n") {
                cursor.takeNewline()
                if !isBlock { return }
            } else if byte >= 0x80 {
                try readMultibyte()
                text.removeAll(keepingCapacity: true)
            } else {
                cursor.take()
                if isBlock, last == UInt8(ascii: "*"), byte == UInt8(ascii: "/") { return }
            }
            last = byte
        }
        if isBlock { throw fail(.unexpectedEnd(wanted: "*/")) }
    }

    /// Takes a word, or else one character; returns at most 40 bytes of it.
    mutating func excerpt() throws(DecodingStop) -> String {
        text.removeAll(keepingCapacity: true)
        while let byte = try cursor.peek(), text.count < 40 {
            if byte >= 0x80 {
                try readMultibyte()
            } else if text.isEmpty || isWord(byte) {
                text.append(byte)
                cursor.take()
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
    private mutating func readMultibyte() throws(DecodingStop) {
        guard let lead = try cursor.peek() else { return }
        var range: ClosedRange<UInt8> = 0x80...0xBF
        let count: Int
        let place = cursor.position
        switch lead {
        case 0xC2...0xDF: count = 1
        case 0xE0: (count, range) = (2, 0xA0...0xBF)
        case 0xED: (count, range) = (2, 0x80...0x9F)
        case 0xE1...0xEF: count = 2
        case 0xF0: (count, range) = (3, 0x90...0xBF)
        case 0xF1...0xF3: count = 3
        case 0xF4: (count, range) = (3, 0x80...0x8F)
        default: throw fail(.invalidUTF8, at: place)
        }
        text.append(lead)
        cursor.take()
        for _ in 0..<count {
            guard let byte = try cursor.peek(), range.contains(byte) else {
                throw fail(.invalidUTF8, at: place)
            }
            text.append(byte)
            cursor.takeContinuation()
            range = 0x80...0xBF
        }
    }
}

// MARK: Strings

extension JSONScanner {
    /// Reads a string's text; the next byte is its opening quote.
    mutating func readString() throws(DecodingStop) {
        text.removeAll(keepingCapacity: true)
        cursor.take()
        while true {
            cursor.takePlainRun(into: &text)
            guard text.count <= longestText else { throw fail(.longText) }
            guard let byte = try cursor.peek() else { throw fail(.unexpectedEnd(wanted: "\"")) }
            switch byte {
            case UInt8(ascii: "\""):
                cursor.take()
                return
            case UInt8(ascii: "\\"): try readEscape()
            case 0..<0x20:
                throw fail(
                    .controlCharacter(byte), at: cursor.position,
                    correction: JSONScanner.escape(of: byte))
            case 0x80...: try readMultibyte()
            default: continue
            }
        }
    }

    /// The escape that belongs in the place of a control character; none for a line break, because the
    /// text may have been meant to end there.
    private static func escape(of byte: UInt8) -> Correction? {
        guard byte != 0x0A, byte != 0x0D else { return nil }
        let escape = byte == 0x09 ? "\\t" : "\\u00" + Hex.encode([byte])
        return .written(String(Unicode.Scalar(byte)), escape)
    }

    private mutating func readEscape() throws(DecodingStop) {
        let place = cursor.position
        cursor.take()
        guard let byte = try cursor.peek() else { throw fail(.unexpectedEnd(wanted: "an escape")) }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            cursor.take()
            try readUnit(try hexUnit(at: place), at: place)
            return
        default: throw fail(.escape("\\" + String(try excerpt().prefix(1))), at: place)
        }
        cursor.take()
    }

    /// Appends a UTF-16 unit; if it is half of a pair, takes the other half too.
    private mutating func readUnit(_ unit: UInt16, at place: TextPosition) throws(DecodingStop) {
        guard UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) else {
            append(UInt32(unit))
            return
        }
        let shown = "\\u" + Hex.encode([UInt8(unit >> 8), UInt8(unit & 255)])
        guard UTF16.isLeadSurrogate(unit), try cursor.peek() == UInt8(ascii: "\\") else {
            report(.loneSurrogate(shown), at: place)
            return
        }
        let second = cursor.position
        cursor.take()
        guard try cursor.peek() == UInt8(ascii: "u") else {
            report(.loneSurrogate(shown), at: place)
            // Another escape follows, and is read as one.
            cursor.putBack(UInt8(ascii: "\\"))
            return
        }
        cursor.take()
        let trail = try hexUnit(at: second)
        guard UTF16.isTrailSurrogate(trail) else {
            report(.loneSurrogate(shown), at: place)
            try readUnit(trail, at: second)
            return
        }
        append(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(trail & 0x3FF)))
    }

    private mutating func hexUnit(at place: TextPosition) throws(DecodingStop) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = try cursor.peek(), let digit = Hex.value(of: byte) else {
                throw fail(.escape("\\u" + (try excerpt().prefix(4))), at: place)
            }
            unit = unit << 4 | UInt16(digit)
            cursor.take()
        }
        return unit
    }

    private mutating func append(_ code: UInt32) {
        guard let scalar = Unicode.Scalar(code) else { return }
        text += Array(String(scalar).utf8)
    }
}

// MARK: Numbers

extension JSONScanner {
    /// Reads a number's text; it is an error if it breaks the grammar or exceeds a Double.
    mutating func readNumber() throws(DecodingStop) {
        text.removeAll(keepingCapacity: true)
        while let byte = try cursor.peek(), isNumberByte(byte) {
            guard text.count < longestText else { throw fail(.longText) }
            text.append(byte)
            cursor.take()
        }
        guard JSONNumber.matches(text) else { throw fail(.number(string)) }
        // Only a text with an exponent or of some hundred digits can be beyond a Double.
        let mayNotFit = text.count > 300 || text.contains { $0 | 0x20 == UInt8(ascii: "e") }
        if mayNotFit, text.count > 2000 || Double(string)?.isFinite != true {
            report(.numberDoesNotFit(string))
        }
    }

    private func isNumberByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
            UInt8(ascii: "."), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
