/// The next token of a JSON text.
///
/// The tokenizer, not the token, has the text of a key, string or number.
enum JSONToken {
    case beginObject, endObject, beginArray, endArray
    case key, string, number
    case boolean(Bool)
    case null
    case end
}

/// A strict pull tokenizer over chunks of JSON text (RFC 8259), with the place of every token.
///
/// The tokenizer checks all rules that do not depend on the meaning of the text: grammar, UTF-8,
/// duplicate keys, depth. An error with a clear intention (a trailing comma, a comment) is logged
/// and skipped. So the same run finds the errors behind it.
struct JSONTokenizer {
    /// The most objects and arrays that may be open at once.
    static let deepest = 64
    /// The greatest length of a string, key or number of a manifest in bytes.
    static let longestText = 1 << 20

    private enum Expectation {
        case value, valueOrEnd, valueAfterComma, keyOrEnd, keyAfterComma, commaOrEnd, nothing
    }

    private let bytes: ManifestBytes
    private let log: DiagnosticLog
    /// The greatest length of a string, key or number in bytes.
    private let longestText: Int
    private var chunk: [UInt8] = []
    /// The offset in the text at which the chunk begins.
    private var chunkStart = 0
    /// The offset of the next byte in the chunk.
    private var at = 0
    private var line = 1
    /// The offset in the chunk at which the line begins; negative if it began before the chunk.
    private var lineStart = 0
    /// The number of bytes in this line that begin no character: a column counts characters.
    private var continuations = 0

    private var expectation = Expectation.value
    /// The opening bytes of the objects and arrays that are open.
    private var containers: [UInt8] = []
    private var keys = OpenKeys()
    private var comma = TextPosition()
    /// The place at which the last value ended.
    private var valueEnd = TextPosition()
    /// The place at which the last token begins. Errors are reported there.
    private(set) var start = TextPosition()
    /// The offset in bytes at which the last token begins.
    private(set) var startOffset = 0
    /// The decoded text of the last key, string or number; valid UTF-8.
    private(set) var text: [UInt8] = []

    /// Begins at the first byte of the text, or behind a byte order mark.
    init(
        _ bytes: ManifestBytes, log: DiagnosticLog, longestText: Int = JSONTokenizer.longestText
    ) throws(DecodingStop) {
        (self.bytes, self.log, self.longestText) = (bytes, log, longestText)
        bytes.rewind()
        try refill()
        if chunk.starts(with: [0xEF, 0xBB, 0xBF]) { (at, lineStart) = (3, 3) }
    }

    /// The offset in bytes at which the last token ends; for a key, behind its colon.
    var endOffset: Int { chunkStart + at }
    /// The text of the last key, string or number.
    var string: String { String(decoding: text, as: UTF8.self) }

    /// Reads the next token. Returns `end` when the text is complete.
    mutating func next() throws(DecodingStop) -> JSONToken {
        while true {
            guard let byte = try skipSpace() else {
                if case .nothing = expectation { return .end }
                throw unexpectedEnd(wanted)
            }
            start = position
            startOffset = endOffset
            switch (expectation, byte) {
            case (.nothing, _):
                throw fail("\(Quoted(try excerpt())) after the end of the manifest; remove it")
            case (.commaOrEnd, UInt8(ascii: ",")):
                comma = start
                at += 1
                expectation = isInObject ? .keyAfterComma : .valueAfterComma
            case _ where closes(byte): return close()
            case (.commaOrEnd, UInt8(ascii: "\"")), (.commaOrEnd, UInt8(ascii: "{")):
                report(
                    "a comma is missing before this", correction: .missing(",", at: valueEnd))
                expectation = isInObject ? .keyAfterComma : .valueAfterComma
            case (.commaOrEnd, _): throw unexpected(try excerpt(), wanted)
            case (.keyOrEnd, _), (.keyAfterComma, _): return try key(byte)
            case (.value, _), (.valueOrEnd, _), (.valueAfterComma, _): return try value(byte)
            }
        }
    }

    /// Skips the value that begins with `token`, the token that `next` has just returned.
    mutating func skip(_ token: JSONToken) throws(DecodingStop) {
        switch token {
        case .beginObject, .beginArray:
            let depth = containers.count
            while containers.count >= depth { _ = try next() }
        default: break
        }
    }
}

// MARK: Grammar

extension JSONTokenizer {
    private var isInObject: Bool { containers.last == UInt8(ascii: "{") }

    private var wanted: String {
        switch expectation {
        case .value, .valueAfterComma: "a value"
        case .valueOrEnd: "a value or ]"
        case .keyOrEnd: "a key or }"
        case .keyAfterComma: "a key"
        case .commaOrEnd: isInObject ? "a comma or }" : "a comma or ]"
        case .nothing: "the end"
        }
    }

    /// Whether a byte ends the innermost container here.
    ///
    /// A byte after a comma also ends the container, though `close` then reports the comma.
    private func closes(_ byte: UInt8) -> Bool {
        switch (expectation, byte) {
        case (.keyOrEnd, UInt8(ascii: "}")), (.keyAfterComma, UInt8(ascii: "}")): true
        case (.valueOrEnd, UInt8(ascii: "]")), (.valueAfterComma, UInt8(ascii: "]")): true
        case (.commaOrEnd, UInt8(ascii: "}")): isInObject
        case (.commaOrEnd, UInt8(ascii: "]")): !isInObject
        default: false
        }
    }

    private mutating func close() -> JSONToken {
        switch expectation {
        case .keyAfterComma, .valueAfterComma:
            report(
                "a comma with nothing after it; remove it", at: comma,
                correction: .written(",", ""))
        default: break
        }
        at += 1
        let token: JSONToken = isInObject ? .endObject : .endArray
        if isInObject { keys.close() }
        containers.removeLast()
        afterValue()
        return token
    }

    private mutating func open(_ byte: UInt8) throws(DecodingStop) {
        guard containers.count < Self.deepest else {
            throw fail("more than \(Self.deepest) levels of objects and arrays")
        }
        at += 1
        containers.append(byte)
        if byte == UInt8(ascii: "{") {
            keys.open()
            expectation = .keyOrEnd
        } else {
            expectation = .valueOrEnd
        }
    }

    private mutating func afterValue() {
        expectation = containers.isEmpty ? .nothing : .commaOrEnd
        valueEnd = position
    }

    private mutating func key(_ byte: UInt8) throws(DecodingStop) -> JSONToken {
        guard byte == UInt8(ascii: "\"") else {
            if byte == UInt8(ascii: "'") { throw singleQuote() }
            let text = try excerpt()
            let isName = text.utf8.first.map {
                $0 >= 0x80 || Template.isName(String(text.prefix(1)))
            }
            guard isName == true else { throw unexpected(text, "a key") }
            throw fail(
                "the key \(Escaped(text, limit: 40)) has no quotes; write \(Quoted(text))",
                correction: .written(text, "\"\(text)\""))
        }
        try readString()
        if !keys.enter(text) { report("the key \(Quoted(string)) is here a second time; keep one") }
        let place = start
        let colon = try skipSpace()
        start = position
        guard let colon else { throw unexpectedEnd("a colon") }
        guard colon == UInt8(ascii: ":") else { throw unexpected(try excerpt(), "a colon") }
        at += 1
        start = place
        expectation = .value
        return .key
    }

    private mutating func value(_ byte: UInt8) throws(DecodingStop) -> JSONToken {
        switch byte {
        case UInt8(ascii: "{"):
            try open(byte)
            return .beginObject
        case UInt8(ascii: "["):
            try open(byte)
            return .beginArray
        case UInt8(ascii: "\""):
            try readString()
            afterValue()
            return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
            UInt8(ascii: "."):
            try readNumber()
            afterValue()
            return .number
        case UInt8(ascii: "'"): throw singleQuote()
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"):
            throw unexpected(try excerpt(), wanted)
        default:
            let token = try literal()
            afterValue()
            return token
        }
    }

    private mutating func literal() throws(DecodingStop) -> JSONToken {
        switch try excerpt() {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "null": return .null
        case let other:
            let lower = other.lowercased()
            guard ["true", "false", "null"].contains(lower) else {
                throw fail("\(Quoted(other)) is no JSON value; text stands in double quotes")
            }
            throw fail(
                "\(Quoted(other)) is no JSON value; write \(lower)",
                correction: .written(other, lower))
        }
    }
}

// MARK: Errors

extension JSONTokenizer {
    /// The message about a string, key or number beyond the limit.
    static let longTextMessage = "a text of more than \(longestText >> 20) MiB"

    private func report(
        _ message: @autoclosure () -> String, at place: TextPosition? = nil,
        correction: Correction? = nil
    ) {
        log.error(at: place ?? start, message(), correction: correction)
    }

    /// Logs an error that ends the reading. Returns the error to throw.
    private func fail(
        _ message: String, at place: TextPosition? = nil, correction: Correction? = nil
    ) -> DecodingStop {
        report(message, at: place, correction: correction)
        return .refused
    }

    private func unexpected(_ text: String, _ wanted: String) -> DecodingStop {
        fail("\(Quoted(text)) where \(wanted) should be")
    }

    private func unexpectedEnd(_ wanted: String) -> DecodingStop {
        fail("the text ends where \(wanted) should be; was it cut off?")
    }

    private func singleQuote() -> DecodingStop {
        fail("a single quote; JSON has double quotes", correction: .quotes)
    }

    private func loneSurrogate(_ unit: UInt16, at place: TextPosition) {
        let shown = "\\u" + Hex.encode([UInt8(unit >> 8), UInt8(unit & 255)])
        report("\(Quoted(shown)) is half of a pair of surrogates", at: place)
    }

    private func controlCharacter(_ byte: UInt8) -> DecodingStop {
        // The string may have been meant to end at the line break, so no correction is certain.
        if byte == 0x0A || byte == 0x0D {
            return fail(
                "a line break in a string; close the string or write \\n", at: position)
        }
        let hex = "\\u00" + Hex.encode([byte])
        return fail(
            "a control character in a string; write \(hex)", at: position,
            correction: .written(String(Unicode.Scalar(byte)), byte == 0x09 ? "\\t" : hex))
    }

    private func badEscape(_ text: String, at place: TextPosition) -> DecodingStop {
        fail(
            "\(Quoted(text)) is no escape; write \\\\ for a backslash, or \\u and four digits",
            at: place)
    }

    /// Reads a word or one other character, for an error. Returns at most 40 bytes of it.
    private mutating func excerpt() throws(DecodingStop) -> String {
        text.removeAll(keepingCapacity: true)
        while let byte = try peek(), text.count < 40 {
            if byte >= 0x80 {
                try readMultibyte()
            } else if text.isEmpty || JSONTokenizer.isWord(byte) {
                text.append(byte)
                at += 1
                if !JSONTokenizer.isWord(byte) { break }
            } else {
                break
            }
        }
        return string
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "$"):
            true
        default: false
        }
    }
}

// MARK: Bytes

extension JSONTokenizer {
    /// The place of the next byte.
    private var position: TextPosition {
        TextPosition(line: line, column: at - lineStart - continuations + 1)
    }

    /// Returns the next byte without consuming it. Returns nil at the end of the text.
    @inline(__always)
    private mutating func peek() throws(DecodingStop) -> UInt8? {
        if at == chunk.count {
            try refill()
            if chunk.isEmpty { return nil }
        }
        return chunk[at]
    }

    private mutating func refill() throws(DecodingStop) {
        chunkStart += chunk.count
        lineStart -= chunk.count
        at = 0
        try bytes.next(&chunk)
    }

    private mutating func takeNewline() {
        at += 1
        line += 1
        lineStart = at
        continuations = 0
    }

    /// Puts back the byte that was consumed last.
    private mutating func putBack(_ byte: UInt8) {
        if at > 0 {
            at -= 1
            return
        }
        // The byte was the last one of the previous chunk, so it becomes the first one of this
        // chunk.
        chunk.insert(byte, at: 0)
        chunkStart -= 1
        lineStart += 1
    }

    /// Skips white space, and skips and logs comments.
    ///
    /// Returns the byte behind them, or nil at the end of the text.
    private mutating func skipSpace() throws(DecodingStop) -> UInt8? {
        while let byte = try peek() {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): at += 1
            case UInt8(ascii: "\n"): takeNewline()
            case UInt8(ascii: "/"), UInt8(ascii: "#"): try skipComment(byte)
            default: return byte
            }
        }
        return nil
    }

    private mutating func skipComment(_ first: UInt8) throws(DecodingStop) {
        start = position
        at += 1
        var isBlock = false
        if first == UInt8(ascii: "/") {
            let second = try peek()
            guard second == UInt8(ascii: "/") || second == UInt8(ascii: "*") else {
                throw unexpected("/", "a value")
            }
            isBlock = second == UInt8(ascii: "*")
            at += 1
        }
        report("a comment, which JSON does not have; use \"x-note\": \"…\"")
        var last: UInt8 = 0
        while let byte = try peek() {
            if byte == UInt8(ascii: "\n") {
                takeNewline()
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
        if isBlock { throw unexpectedEnd("*/") }
    }

    /// Adds one character of two to four bytes to the text, checked by Unicode's Table 3-7.
    private mutating func readMultibyte() throws(DecodingStop) {
        guard let lead = try peek() else { return }
        let place = position
        guard var (count, range) = UTF8Check.continuation(of: lead) else {
            throw fail(UTF8Check.message, at: place)
        }
        text.append(lead)
        at += 1
        while count > 0 {
            guard let byte = try peek(), range.contains(byte) else {
                throw fail(UTF8Check.message, at: place)
            }
            text.append(byte)
            at += 1
            continuations += 1
            (count, range) = (count - 1, 0x80...0xBF)
        }
    }
}

// MARK: Strings and numbers

extension JSONTokenizer {
    /// Reads a string's text; the next byte is its opening quote.
    private mutating func readString() throws(DecodingStop) {
        text.removeAll(keepingCapacity: true)
        at += 1
        while true {
            // Most strings are one run of plain bytes.
            let end = chunk.withUnsafeBytes { PlainText.end(in: $0, from: at) }
            text += chunk[at..<end]
            at = end
            guard text.count <= longestText else { throw fail(Self.longTextMessage) }
            guard let byte = try peek() else { throw unexpectedEnd("\"") }
            switch byte {
            case UInt8(ascii: "\""):
                at += 1
                return
            case UInt8(ascii: "\\"): try readEscape()
            case 0..<0x20: throw controlCharacter(byte)
            case 0x7F:
                text.append(byte)
                at += 1
            case 0x80...: try readMultibyte()
            default: continue
            }
        }
    }

    private mutating func readEscape() throws(DecodingStop) {
        let place = position
        at += 1
        guard let byte = try peek() else { throw unexpectedEnd("an escape") }
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
        default: throw badEscape("\\" + (try excerpt().prefix(1)), at: place)
        }
        at += 1
    }

    /// Appends a UTF-16 unit. If the unit is half of a surrogate pair, reads the other half too.
    private mutating func readUnit(_ unit: UInt16, at place: TextPosition) throws(DecodingStop) {
        guard UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) else {
            append(UInt32(unit))
            return
        }
        guard UTF16.isLeadSurrogate(unit), try peek() == UInt8(ascii: "\\") else {
            return loneSurrogate(unit, at: place)
        }
        let second = position
        at += 1
        guard try peek() == UInt8(ascii: "u") else {
            // Another escape follows. The caller reads this escape on its own.
            putBack(UInt8(ascii: "\\"))
            return loneSurrogate(unit, at: place)
        }
        at += 1
        let trail = try hexUnit(at: second)
        guard UTF16.isTrailSurrogate(trail) else {
            loneSurrogate(unit, at: place)
            try readUnit(trail, at: second)
            return
        }
        append(0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(trail & 0x3FF)))
    }

    private mutating func hexUnit(at place: TextPosition) throws(DecodingStop) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = try peek(), let digit = Hex.value(of: byte) else {
                throw badEscape("\\u" + (try excerpt().prefix(4)), at: place)
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

    /// Reads a number's text.
    ///
    /// Throws if the text breaks the grammar. Logs an error if the number exceeds a Double.
    private mutating func readNumber() throws(DecodingStop) {
        text.removeAll(keepingCapacity: true)
        while let byte = try peek(), JSONTokenizer.isWord(byte), byte != UInt8(ascii: "$") {
            guard text.count < longestText else { throw fail(Self.longTextMessage) }
            text.append(byte)
            at += 1
        }
        guard JSONTokenizer.isNumber(text) else {
            throw fail(
                "\(Quoted(string)) is not a JSON number; write digits without leading zeros or +")
        }
        // Only a number with an exponent, or with some hundred digits, can exceed a Double.
        let mayNotFit = text.count > 300 || text.contains { $0 | 0x20 == UInt8(ascii: "e") }
        if mayNotFit, text.count > 2000 || Double(string)?.isFinite != true {
            report("the number \(Escaped(string, limit: 40)) does not fit")
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

/// Finds duplicate keys in the objects that are open.
///
/// The keys of a short object are compared. For an object with many keys, hashes are kept, because
/// comparing takes time with the square of their number. `Hasher` has a new seed in every process,
/// so no author of a manifest can choose keys that collide.
private struct OpenKeys {
    /// The keys of all open objects, one after the other.
    private var text: [UInt8] = []
    /// Where each key ends in the text.
    private var ends: [Int] = []
    /// The number of the first key of each open object.
    private var starts: [Int] = []
    /// The hashes of an object with many keys, by its depth.
    private var hashes: [Int: Set<Int>] = [:]
    private static let few = 32

    mutating func open() { starts.append(ends.count) }

    mutating func close() {
        guard let start = starts.popLast() else { return }
        if ends.count - start > Self.few { hashes[starts.count] = nil }
        text.removeLast(text.count - begin(of: start))
        ends.removeLast(ends.count - start)
    }

    /// Adds a key of the innermost object. Returns false if the object has the key already.
    mutating func enter(_ key: [UInt8]) -> Bool {
        guard let start = starts.last else { return true }
        let depth = starts.count - 1
        if ends.count - start > Self.few {
            return hashes[depth]?.insert(Self.hash(key[...])).inserted ?? true
        }
        for number in start..<ends.count where self[number] == key[...] { return false }
        text += key
        ends.append(text.count)
        if ends.count - start > Self.few {
            hashes[depth] = Set((start..<ends.count).map { Self.hash(self[$0]) })
        }
        return true
    }

    private func begin(of number: Int) -> Int { number == 0 ? 0 : ends[number - 1] }

    private subscript(number: Int) -> ArraySlice<UInt8> { text[begin(of: number)..<ends[number]] }

    private static func hash(_ key: ArraySlice<UInt8>) -> Int {
        var hasher = Hasher()
        key.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}
