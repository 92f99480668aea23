internal import MirrorModel

extension JSONTokenizer {
    /// Reads a string's text; the next byte is its opening quote.
    mutating func readString() throws(DecodingStop) {
        text.removeAll(keepingCapacity: true)
        at += 1
        while true {
            takePlainRun()
            guard text.count <= Self.longestText else { throw fail(.longText) }
            guard let byte = try peek() else { throw fail(.unexpectedEnd(wanted: "\"")) }
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return
            case UInt8(ascii: "\\"): try readEscape()
            case 0..<0x20:
                throw failHere(.controlCharacter(byte), correction: JSONTokenizer.escape(of: byte))
            case 0x80...: try readMultibyte()
            default: continue
            }
        }
    }

    /// Takes the bytes before the next one that needs a check: most strings are one such run.
    private mutating func takePlainRun() {
        let from = at
        let end = buffer.withUnsafeBufferPointer { buffer in
            var end = from
            while end < buffer.count {
                let byte = buffer[end]
                if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { break }
                end += 1
            }
            return end
        }
        text += buffer[from..<end]
        at = end
    }

    /// The escape that belongs in the place of a control character; none for a line break, because the
    /// text may have been meant to end there.
    private static func escape(of byte: UInt8) -> Correction? {
        guard byte != 0x0A, byte != 0x0D else { return nil }
        let escape = byte == 0x09 ? "\\t" : "\\u00" + Hex.encode([byte])
        return .written(String(Unicode.Scalar(byte)), escape)
    }

    private mutating func readEscape() throws(DecodingStop) {
        let place = position
        at += 1
        guard let byte = try peek() else { throw fail(.unexpectedEnd(wanted: "an escape")) }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            at += 1
            try readUnit(try hexUnit(at: place), at: place)
            return
        default:
            start = place
            throw fail(.escape("\\" + String(try excerpt().prefix(1))))
        }
        at += 1
    }

    /// Appends a UTF-16 unit; if it is half of a pair, takes the other half too.
    private mutating func readUnit(_ unit: UInt16, at place: TextPosition) throws(DecodingStop) {
        guard UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) else {
            append(UInt32(unit))
            return
        }
        let shown = "\\u" + Hex.encode([UInt8(unit >> 8), UInt8(unit & 255)])
        guard UTF16.isLeadSurrogate(unit), try peek() == UInt8(ascii: "\\") else {
            log.error(at: place, JSONFlaw.loneSurrogate(shown).description)
            return
        }
        let second = position
        at += 1
        guard try peek() == UInt8(ascii: "u") else {
            // Another escape follows, and is read as one.
            log.error(at: place, JSONFlaw.loneSurrogate(shown).description)
            try undoBackslash()
            return
        }
        at += 1
        let trail = try hexUnit(at: second)
        guard UTF16.isTrailSurrogate(trail) else {
            log.error(at: place, JSONFlaw.loneSurrogate(shown).description)
            try readUnit(trail, at: second)
            return
        }
        append(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(trail & 0x3FF)))
    }

    /// Puts back a backslash that was taken, so that the escape is read as one.
    private mutating func undoBackslash() throws(DecodingStop) {
        if at > 0 {
            at -= 1
            return
        }
        // The backslash was the last byte of the previous chunk. It is put before this one.
        buffer.insert(UInt8(ascii: "\\"), at: 0)
        bufferStart -= 1
    }

    private mutating func hexUnit(at place: TextPosition) throws(DecodingStop) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = try peek(), let digit = Hex.value(of: byte) else {
                start = place
                throw fail(.escape("\\u" + (try excerpt().prefix(4))))
            }
            unit = unit << 4 | UInt16(digit)
            at += 1
        }
        return unit
    }

    private mutating func append(_ code: UInt32) {
        guard let scalar = Unicode.Scalar(code) else { return }
        text += Array(String(scalar).utf8)
    }

    /// Reads a number's text; it is an error if it breaks the grammar or exceeds a Double.
    mutating func readNumber() throws(DecodingStop) {
        text.removeAll(keepingCapacity: true)
        while let byte = try peek(), isNumberByte(byte) {
            guard text.count < Self.longestText else { throw fail(.longText) }
            text.append(byte)
            at += 1
        }
        guard JSONTokenizer.isNumber(text) else { throw fail(.number(string)) }
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

    /// Whether a text is a number by RFC 8259 §6: `-`? int frac? exp?
    static func isNumber(_ text: [UInt8]) -> Bool {
        var rest = text[...]
        let digits = { (rest: inout ArraySlice<UInt8>) -> Int in
            let run = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest[run.endIndex...]
            return run.count
        }
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits(&rest)
        guard whole == 1 || (whole > 1 && !startsWithZero) else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard digits(&rest) > 0 else { return false }
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
                rest.removeFirst()
            }
            guard digits(&rest) > 0 else { return false }
        }
        return rest.isEmpty
    }
}
