internal import MirrorModel

/// The next token of a JSON text; the tokenizer has the text of keys, strings and numbers.
enum JSONToken {
    case beginObject, endObject, beginArray, endArray
    case key, string, number
    case boolean(Bool)
    case null
    case end
}

/// A pull tokenizer over chunks of JSON text (RFC 8259), strict, with the place of every token.
///
/// It checks everything that does not depend on the meaning of the text: grammar, UTF-8, duplicate
/// keys, depth. A slip with a clear intention (a trailing comma, a comment) is logged and skipped,
/// so that the same run finds the errors behind it.
struct JSONTokenizer {
    /// How many objects and arrays may be open at once.
    static let deepest = 64
    /// The greatest length of a string, key or number in bytes.
    static let longestText = 1 << 20

    enum Expectation {
        case value, valueOrEnd, valueAfterComma, keyOrEnd, keyAfterComma, commaOrEnd, nothing
    }

    let bytes: ManifestBytes
    let log: DiagnosticLog
    var buffer: [UInt8] = []
    var at = 0
    /// The offsets of the first byte of the buffer and of the line.
    var bufferStart = 0
    var lineStart = 0
    /// The number of bytes in this line that begin no character, and the line's number.
    var continuations = 0
    var line = 1
    var expectation = Expectation.value
    var containers: [UInt8] = []
    var keys = KeyLedger()
    private var comma = TextPosition()
    /// Where the last value ended.
    private var valueEnd = TextPosition()

    /// Where the last token begins.
    var start = TextPosition()
    /// The offset in bytes that the last token begins at.
    private(set) var startOffset = 0
    /// The offset in bytes at which the last token ends; for a key, behind its colon.
    var endOffset: Int { bufferStart + at }
    /// The decoded text of the last key, string or number; valid UTF-8.
    var text: [UInt8] = []

    init(_ bytes: ManifestBytes, log: DiagnosticLog) throws(DecodingStop) {
        self.bytes = bytes
        self.log = log
        bytes.rewind()
        try refill()
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) {
            at = 3
            lineStart = 3
        }
    }

    /// The text of the last key, string or number.
    var string: String { String(decoding: text, as: UTF8.self) }

    var position: TextPosition {
        TextPosition(line: line, column: bufferStart + at - lineStart - continuations + 1)
    }

    /// The next token; `end` when the text is complete.
    mutating func next() throws(DecodingStop) -> JSONToken {
        while true {
            guard let byte = try skipSpace() else {
                if case .nothing = expectation { return .end }
                throw fail(.unexpectedEnd(wanted: wanted))
            }
            start = position
            startOffset = endOffset
            switch (expectation, byte) {
            case (.nothing, _): throw fail(.afterEnd(try excerpt()))
            case (.commaOrEnd, UInt8(ascii: ",")):
                comma = start
                at += 1
                expectation = isInObject ? .keyAfterComma : .valueAfterComma
            case _ where closes(byte): return close()
            case (.commaOrEnd, UInt8(ascii: "\"")), (.commaOrEnd, UInt8(ascii: "{")):
                report(.missingComma, correction: .missing(",", at: valueEnd))
                expectation = isInObject ? .keyAfterComma : .valueAfterComma
            case (.commaOrEnd, _): throw fail(.unexpected(try excerpt(), wanted: wanted))
            case (.keyOrEnd, _), (.keyAfterComma, _): return try key(byte)
            case (.value, _), (.valueOrEnd, _), (.valueAfterComma, _): return try value(byte)
            }
        }
    }

    /// Skips the value that begins with the token that was just returned.
    mutating func skip(_ token: JSONToken) throws(DecodingStop) {
        switch token {
        case .beginObject, .beginArray:
            let depth = containers.count
            while containers.count >= depth { _ = try next() }
        default: break
        }
    }

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

    /// Whether a byte ends the innermost container here, even after a comma, which is a slip.
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
            log.error(
                at: comma, JSONFlaw.trailingComma.description, correction: .written(",", ""))
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
        guard containers.count < Self.deepest else { throw fail(.depth) }
        at += 1
        containers.append(byte)
        if byte == UInt8(ascii: "{") {
            keys.open()
            expectation = .keyOrEnd
        } else {
            expectation = .valueOrEnd
        }
    }

    mutating func afterValue() {
        expectation = containers.isEmpty ? .nothing : .commaOrEnd
        valueEnd = position
    }

    private mutating func key(_ byte: UInt8) throws(DecodingStop) -> JSONToken {
        guard byte == UInt8(ascii: "\"") else {
            if byte == UInt8(ascii: "'") { throw fail(.singleQuote, correction: .quotes) }
            let text = try excerpt()
            let isName = text.utf8.first.map {
                $0 >= 0x80 || Template.isName(String(text.prefix(1)))
            }
            guard isName == true else { throw fail(.unexpected(text, wanted: "a key")) }
            throw fail(.unquotedKey(text), correction: .written(text, "\"\(text)\""))
        }
        try readString()
        if !keys.enter(text) { report(.duplicateKey(string)) }
        let place = start
        let colon = try skipSpace()
        start = position
        guard let colon else { throw fail(.unexpectedEnd(wanted: "a colon")) }
        guard colon == UInt8(ascii: ":") else {
            throw fail(.unexpected(try excerpt(), wanted: "a colon"))
        }
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
        case UInt8(ascii: "'"): throw fail(.singleQuote, correction: .quotes)
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"):
            throw fail(.unexpected(try excerpt(), wanted: wanted))
        default:
            let token = try literal()
            afterValue()
            return token
        }
    }

    private mutating func literal() throws(DecodingStop) -> JSONToken {
        switch try excerpt() {
        case "true": .boolean(true)
        case "false": .boolean(false)
        case "null": .null
        case let other:
            let lower = other.lowercased()
            let isMeant = ["true", "false", "null"].contains(lower)
            throw fail(.literal(other), correction: isMeant ? .written(other, lower) : nil)
        }
    }

    func report(_ flaw: JSONFlaw, correction: Correction? = nil) {
        log.error(at: start, flaw.description, correction: correction)
    }

    func fail(_ flaw: JSONFlaw, correction: Correction? = nil) -> DecodingStop {
        report(flaw, correction: correction)
        return .refused
    }
}
